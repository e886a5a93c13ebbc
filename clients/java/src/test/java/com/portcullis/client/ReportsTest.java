package com.portcullis.client;

import static com.portcullis.client.Sidecar.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.portcullis.client.GuardTest.Calls;
import com.portcullis.client.GuardTest.Served;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.health.v1.HealthCheckRequest;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The lines that guards log, and their calls of a listener. */
class ReportsTest {
  private final Logger logger = Logger.getLogger("com.portcullis.client");
  private final List<String> lines = new CopyOnWriteArrayList<>();
  private final LinkedBlockingQueue<RuntimeException> told = new LinkedBlockingQueue<>();
  private final Handler handler =
      new Handler() {
        @Override
        public void publish(LogRecord record) {
          lines.add(record.getMessage());
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
      };

  @BeforeEach
  void capture() {
    logger.addHandler(handler);
  }

  @AfterEach
  void release() {
    logger.removeHandler(handler);
  }

  @Test
  void anOutageIsALineAndACount() throws Exception {
    int port;
    try (var gone = new FakeSidecar()) {
      port = gone.port();
    }
    try (var client = Client.connect("127.0.0.1:" + port);
        var served = new Served(new Guard(client, "balance"));
        var other = new Served(new SpringGuard(new Guard(client, "iam")))) {
      eventually("the start is reported", () -> lines.size() == 1);
      for (var round = 0; round < 2; round++) {
        assertEquals(503, served.get("/", List.of()).statusCode());
        // All guards of a client have one outage.
        assertEquals(503, other.get("/", List.of()).statusCode());
      }
      assertEquals(1, lines.size(), lines::toString);
      try (var fake = new FakeSidecar(port)) {
        eventually(
            "a request passes",
            () -> {
              client.reports().outage().quiet();
              return statusOf(served) == 200;
            });
        assertTrue(fake.checks.get() > 0);
      }
      assertEquals(2, lines.size(), lines::toString);
      var start = lines.get(0);
      assertTrue(start.startsWith("no sidecar answers at 127.0.0.1:" + port + " ("), start);
      assertTrue(start.endsWith("); requests are denied until a sidecar answers"), start);
      var end = lines.get(1);
      assertTrue(end.matches("the sidecar answers again; \\d+ requests could not be checked"), end);
    }
  }

  private static int statusOf(Served served) {
    try {
      return served.get("/", List.of()).statusCode();
    } catch (Exception error) {
      throw new IllegalStateException(error);
    }
  }

  @Test
  void anApiThatTheMatrixDoesNotHaveIsReportedOnce() throws Exception {
    try (var fake = new FakeSidecar();
        var client = Client.connect(fake.address())) {
      fake.apis = List.of("iam", "balance");
      for (var api : List.of("balanec", "balance", "balanec", "no-such-api")) {
        try (var served = new Served(new Guard(client, api))) {
          served.get("/", List.of());
          served.get("/", List.of());
        }
      }
      // The log does not show the API that a request names.
      try (var served = new Served(new Guard(client, request -> "blance"))) {
        assertEquals(403, served.get("/", List.of()).statusCode());
      }
      var apis =
          Map.of("grpc.health.v1.Health/Check", "BALANCES", "grpc.health.v1.Health/Watch", "ima");
      try (var calls = new Calls(new CallGuard(client, apis))) {
        var stub = calls.with(new Metadata());
        var error =
            assertThrows(
                StatusRuntimeException.class,
                () -> stub.check(HealthCheckRequest.getDefaultInstance()));
        assertEquals(Status.Code.PERMISSION_DENIED, error.getStatus().getCode());
      }
      eventually("each is reported", () -> lines.size() >= 4);
      assertEquals(
          List.of(
              "the matrix has no API `BALANCES`, so the requests of its guard are denied; did you mean `balance`?",
              "the matrix has no API `balanec`, so the requests of its guard are denied; did you mean `balance`?",
              "the matrix has no API `ima`, so the requests of its guard are denied",
              "the matrix has no API `no-such-api`, so the requests of its guard are denied"),
          lines.stream().sorted().toList());
    }
  }

  @Test
  void aListenerLearnsWhatAGuardFinds() throws Exception {
    int port;
    try (var gone = new FakeSidecar()) {
      port = gone.port();
    }
    try (var client = Client.connect("127.0.0.1:" + port);
        var served = new Served(new Guard(client, "balance").onFailure(told::add))) {
      // At its start, and for each request.
      for (var round = 0; round < 3; round++) {
        var failed = assertInstanceOf(PortcullisException.class, told.take());
        assertEquals(Status.Code.UNAVAILABLE, failed.code());
        served.get("/", List.of());
      }
      told.take();
    }
    // A sidecar that does not say at the start what its matrix has.
    try (var fake = new FakeSidecar();
        var client = Client.connect(fake.address());
        var served = new Served(new Guard(client, "balanec").onFailure(told::add))) {
      eventually("it is asked", () -> fake.matrices.get() == 1);
      fake.apis = List.of("balance");
      served.get("/", List.of());
      served.get("/", List.of());
      var unknown = assertInstanceOf(UnknownApiException.class, told.take());
      assertEquals("balanec", unknown.api());
      assertEquals(Optional.of("balance"), unknown.meant());
    }
    assertEquals(0, told.size(), told::toString);
    assertEquals(0, lines.size(), lines::toString);
  }
}
