/* sanitized.h — SANITIZED is defined in a build with AddressSanitizer or ThreadSanitizer.
 * gcc and clang say so in different ways. Their checks read the process's own memory and stop all
 * of its threads. */
#ifndef UTIL_SANITIZED_H
#define UTIL_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

#endif
