package sirdar.runner;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/** Whole lines to the broker, from any thread. */
final class Link {
    private final OutputStream out;

    Link(OutputStream out) {
        this.out = out;
    }

    void send(Map<String, Object> message) {
        StringBuilder line = new StringBuilder(128);
        Json.write(message, line);
        byte[] bytes = line.append('\n').toString().getBytes(StandardCharsets.UTF_8);
        synchronized (this) {
            try {
                out.write(bytes);
                out.flush();
            } catch (IOException e) {
                Runtime.getRuntime().halt(1); // the broker is gone
            }
        }
    }
}
