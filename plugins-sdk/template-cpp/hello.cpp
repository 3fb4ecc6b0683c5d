// hello.cpp — a runner to copy, in C++11: says hello `times` times, a second apart.
#include <cstddef>
#include <exception>
#include <sirdar/runner.h>
#include <string>

namespace {

const runner_host *host;

// One job. No exception may leave the plugin: each entry below catches.
class Hello {
public:
	explicit Hello(const runner_job *job) : job_(job), times_(std::stoul(param("times", "3"))) {}

	void run(runner_result *result) const
	{
		for (unsigned long i = 0; i < times_; i++) {
			const std::string line = "hello " + std::to_string(i + 1) + "\n";

			host->log(job_, RUNNER_STDOUT, line.data(), line.size());
			host->progress(job_, static_cast<uint32_t>((i + 1) * 1000 / times_), nullptr);
			if (host->pause(job_, 1000)) { // told to stop
				result->exit_code = -15;
				return;
			}
		}
		host->output(job_, "said", std::to_string(times_).c_str());
	}

private:
	std::string param(const char *name, const char *otherwise) const
	{
		char value[64];

		return host->param(job_, name, value, sizeof value) < 0 ? otherwise : value;
	}

	const runner_job *job_;
	unsigned long times_;
};

int fail(runner_result *result, const std::exception &why)
{
	const std::string text = why.what();

	result->verdict = RUNNER_FATAL; // trying again cannot help
	text.copy(result->text, sizeof result->text - 1);
	return RUNNER_FAILED;
}

int hello_open(const runner_host *lent, void **ret_self)
{
	host = lent;
	*ret_self = nullptr;
	return 0;
}

void hello_close(void *) {}

int hello_prepare(void *, const runner_job *job, runner_result *result, void **ret_state)
try {
	*ret_state = new Hello(job);
	return RUNNER_DONE;
} catch (const std::exception &why) {
	return fail(result, why);
}

int hello_execute(void *, void *state, const runner_job *, runner_result *result)
try {
	static_cast<const Hello *>(state)->run(result);
	return RUNNER_DONE; // exit_code 0: success
} catch (const std::exception &why) {
	return fail(result, why);
}

// Always the last call of a job, also after a prepare() that failed: state is NULL then.
void hello_finish(void *, void *state, const runner_job *, runner_result *)
{
	delete static_cast<Hello *>(state);
}

// C++11 has no designated initializers: the order is the header's. These would not compile if it moved.
static_assert(sizeof(runner_plugin) >= RUNNER_SIZE_1_0, "a struct of 1.0 at least");
static_assert(sizeof(void *) != 8 || (offsetof(runner_plugin, open) == 32 &&
              offsetof(runner_plugin, drain) == 80 && offsetof(runner_host, extension) == 88 &&
              offsetof(runner_job, run_as) == 80 && offsetof(runner_result, text) == 24 &&
              offsetof(runner_process, files) == 40), "runner.h is of another ABI");

const runner_plugin plugin = {
	sizeof(runner_plugin), RUNNER_ABI_MAJOR, RUNNER_ABI_MINOR, 0, // flags
	"hello", "1.0", hello_open, hello_close, hello_prepare, hello_execute, hello_finish,
	nullptr, // kill: cancelled() and pause() say the same
	nullptr, // drain
};

} // namespace

const runner_plugin *runner_entry(void)
{
	return &plugin;
}
