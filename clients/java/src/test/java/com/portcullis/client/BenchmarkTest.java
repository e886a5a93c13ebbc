package com.portcullis.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonParser;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** The benchmark runs, in a separate program. SECONDS says for how long. */
class BenchmarkTest {
  @Test
  void theBenchmarkPrintsItsFigures() throws Exception {
    var sidecar = Sidecar.shared();
    sidecar.write("tokens", String.join("\n", sidecar.many) + "\n");
    var java = Path.of(System.getProperty("java.home"), "bin/java").toString();
    var program =
        new ProcessBuilder(
            java, "-cp", System.getProperty("java.class.path"), Benchmark.class.getName());
    program.environment().put("PORTCULLIS_GRPC_ADDRESS", sidecar.address());
    program.environment().put("CALLER_TOKEN", Sidecar.CALLER_TOKEN);
    program.environment().put("OPERATOR_TOKEN", Sidecar.OPERATOR_TOKEN);
    program.environment().put("TOKENS_FILE", sidecar.folder.resolve("tokens").toString());
    program.environment().put("ACCOUNT", Sidecar.ACCOUNT);
    program
        .environment()
        .put("SECONDS", Objects.requireNonNullElse(System.getenv("SECONDS"), "0.02"));
    var running = program.redirectError(ProcessBuilder.Redirect.INHERIT).start();
    var line = new String(running.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, running.waitFor());
    System.out.print(line);
    var figures = JsonParser.parseString(line).getAsJsonObject();
    for (var name :
        List.of(
            "lookup_ns",
            "local_check_ns",
            "grpc_check_ns",
            "bytes_per_token",
            "first_local_answer_ms")) {
      assertTrue(figures.get(name).getAsDouble() > 0, name);
    }
    assertTrue(figures.getAsJsonObject("revocation_ms").get("p50").getAsDouble() > 0);
    assertTrue(figures.get("bytes_per_token").getAsDouble() <= 400, line);
  }
}
