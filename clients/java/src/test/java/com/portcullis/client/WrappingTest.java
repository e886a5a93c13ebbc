package com.portcullis.client;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Context;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.ServerCall;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** A guard does not change a call or a request that passes. */
class WrappingTest {
  private static final Metadata.Key<String> OWN = key("x-own");
  private static final Metadata.Key<String> TOKEN = key("x-token");

  /** The acts of a method with its call. Each is named in the first message. */
  private static final List<String> ACTS =
      List.of(
          "answers",
          "refuses",
          "sends metadata",
          "says what it was sent",
          "knows its deadline",
          "fails",
          "fails with a status");

  private final Sidecar sidecar = Sidecar.shared();

  private static Metadata.Key<String> key(String name) {
    return Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER);
  }

  private static Metadata own(String value) {
    var metadata = new Metadata();
    metadata.put(OWN, value);
    return metadata;
  }

  private static final MethodDescriptor.Marshaller<String> TEXT =
      new MethodDescriptor.Marshaller<>() {
        @Override
        public InputStream stream(String value) {
          return new ByteArrayInputStream(value.getBytes(StandardCharsets.UTF_8));
        }

        @Override
        public String parse(InputStream stream) {
          try {
            return new String(stream.readAllBytes(), StandardCharsets.UTF_8);
          } catch (IOException error) {
            throw new UncheckedIOException(error);
          }
        }
      };

  private static MethodDescriptor<String, String> method(MethodType type) {
    return MethodDescriptor.newBuilder(TEXT, TEXT)
        .setType(type)
        .setFullMethodName("test.Service/" + type)
        .build();
  }

  private static Stream<MethodType> types() {
    return Stream.of(MethodType.values()).filter(type -> type != MethodType.UNKNOWN);
  }

  /** A method of each kind. Another handler of the same program looks at each call first. */
  private static final class Methods {
    final List<String> names = new ArrayList<>();
    final CountDownLatch cancelled = new CountDownLatch(1);

    ServerServiceDefinition service() {
      var service = ServerServiceDefinition.builder("test.Service");
      types().forEach(type -> service.addMethod(method(type), this::begin));
      return service.build();
    }

    private ServerCall.Listener<String> begin(ServerCall<String, String> call, Metadata sent) {
      call.request(2);
      return new ServerCall.Listener<>() {
        private String name = "";

        @Override
        public void onMessage(String message) {
          name = message;
        }

        @Override
        public void onHalfClose() {
          synchronized (names) {
            names.add(CallGuard.token().map(token -> token.subject().name()).orElse(""));
          }
          act(name, call, sent);
        }

        @Override
        public void onCancel() {
          cancelled.countDown();
        }
      };
    }

    private static void act(String name, ServerCall<String, String> call, Metadata sent) {
      var trailers = new Metadata();
      var status = Status.OK;
      switch (name) {
        case "refuses" -> {
          status = Status.PERMISSION_DENIED.withDescription("not yours");
          trailers = own("trailer");
        }
        case "sends metadata" -> trailers = own("trailer");
        case "says what it was sent" ->
            trailers =
                own(
                    sent.get(OWN)
                        + call.getMethodDescriptor().getType()
                        + call.getAuthority().startsWith("127.0.0.1:"));
        case "knows its deadline" -> {
          var left = Context.current().getDeadline().timeRemaining(TimeUnit.SECONDS);
          trailers = own(String.valueOf(left > 0 && left <= 60));
        }
        case "fails" -> throw new IllegalStateException("the records do not answer");
        case "fails with a status" -> throw Status.NOT_FOUND.asRuntimeException(own("trailer"));
        case "waits" -> {
          return;
        }
        default -> {}
      }
      call.sendHeaders(name.equals("sends metadata") ? own("header") : new Metadata());
      if (status.isOk() || !call.getMethodDescriptor().getType().serverSendsOneMessage()) {
        call.sendMessage("done");
      }
      call.close(status, trailers);
    }
  }

  /** All that a client sees of a call. */
  private List<String> outcome(ManagedChannel channel, MethodType type, String name)
      throws Exception {
    var call =
        channel.newCall(method(type), CallOptions.DEFAULT.withDeadlineAfter(60, TimeUnit.SECONDS));
    var told = new ArrayList<String>();
    var ended = new CompletableFuture<List<String>>();
    var metadata = own("by the client");
    metadata.put(TOKEN, sidecar.secrets.get("owner"));
    call.start(
        new ClientCall.Listener<String>() {
          @Override
          public void onHeaders(Metadata headers) {
            told.add("header " + headers.get(OWN));
          }

          @Override
          public void onMessage(String message) {
            told.add(message);
          }

          @Override
          public void onClose(Status status, Metadata trailers) {
            told.add(status.getCode() + " " + status.getDescription());
            told.add("trailer " + trailers.get(OWN));
            ended.complete(told);
          }
        },
        metadata);
    call.request(2);
    call.sendMessage(name);
    call.halfClose();
    return ended.get(120, TimeUnit.SECONDS);
  }

  private static ManagedChannel channelTo(io.grpc.Server server) {
    return Grpc.newChannelBuilder(
            "127.0.0.1:" + server.getPort(), InsecureChannelCredentials.create())
        .build();
  }

  private Map<String, String> apis() {
    return types().collect(Collectors.toMap(type -> "test.Service/" + type, type -> "balance"));
  }

  @Test
  void aCallThatPassesIsNotChanged() throws Exception {
    try (var client = sidecar.connect()) {
      var guards =
          List.of(
              new CallGuard(client, apis()),
              // It waits for the message of a call.
              new CallGuard(client, apis()).target(call -> new Scope(Sidecar.ACCOUNT)));
      for (var guard : guards) {
        var methods = new Methods();
        var bare = FakeSidecar.serve(new Methods()::service);
        var guarded = FakeSidecar.serve(methods::service, guard);
        var expected = channelTo(bare);
        var found = channelTo(guarded);
        try {
          for (var type : types().toList()) {
            for (var act : ACTS) {
              assertEquals(
                  outcome(expected, type, act), outcome(found, type, act), type + " " + act);
            }
          }
        } finally {
          Stream.of(expected, found).forEach(ManagedChannel::shutdownNow);
          Stream.of(bare, guarded).forEach(io.grpc.Server::shutdownNow);
        }
        assertEquals(
            Stream.generate(() -> "owner").limit(4L * ACTS.size()).toList(), methods.names);
      }
    }
  }

  @Test
  void aCallThatIsCancelledEndsItsMethod() throws Exception {
    try (var client = sidecar.connect()) {
      for (var type : List.of(MethodType.UNARY, MethodType.BIDI_STREAMING)) {
        var methods = new Methods();
        var guard = new CallGuard(client, apis()).target(call -> new Scope(Sidecar.ACCOUNT));
        var server = FakeSidecar.serve(methods::service, guard);
        var channel = channelTo(server);
        var metadata = new Metadata();
        metadata.put(TOKEN, sidecar.secrets.get("owner"));
        var call = channel.newCall(method(type), CallOptions.DEFAULT);
        call.start(new ClientCall.Listener<>() {}, metadata);
        call.sendMessage("waits");
        call.halfClose();
        Sidecar.eventually(
            "the method is called",
            () -> {
              synchronized (methods.names) {
                return !methods.names.isEmpty();
              }
            });
        call.cancel("enough", null);
        methods.cancelled.await();
        channel.shutdownNow();
        server.shutdownNow();
      }
    }
  }

  /** The acts of a servlet with a request. Each is the path of one. */
  private static final class Acts extends HttpServlet {
    private static final long serialVersionUID = 1;

    @Override
    protected void service(HttpServletRequest request, HttpServletResponse response)
        throws ServletException, IOException {
      switch (request.getRequestURI()) {
        case "/answers" -> {
          response.setStatus(299);
          response.setHeader("x-own", "header");
          response.getWriter().print(request.getReader().readLine());
        }
        case "/streams" -> {
          response.getOutputStream().print("first");
          response.flushBuffer();
          response.getOutputStream().print("second");
        }
        case "/later" -> {
          var later = request.startAsync();
          later.start(
              () -> {
                try {
                  response.getWriter().print("later");
                } catch (IOException error) {
                  throw new UncheckedIOException(error);
                }
                later.complete();
              });
        }
        case "/refuses" -> response.sendError(418, "own");
        case "/forwards" -> request.getRequestDispatcher("/answers").forward(request, response);
        default -> throw new ServletException("the records do not answer");
      }
    }
  }

  private static String withoutPort(String page) {
    return page.replaceAll("127.0.0.1:\\d+", "");
  }

  @Test
  void aRequestThatPassesIsNotChanged() throws Exception {
    var token = List.of(new GuardTest.Header("X-Token", sidecar.secrets.get("owner")));
    try (var client = sidecar.connect();
        var bare = new GuardTest.Served(new Acts());
        var guarded = new GuardTest.Served(new Acts(), new Guard(client, "balance"));
        var spring =
            new GuardTest.Served(new Acts(), new SpringGuard(new Guard(client, "balance")))) {
      for (var act : List.of("answers", "streams", "later", "refuses", "forwards", "fails")) {
        var expected = bare.get("/" + act, token);
        for (var served : List.of(guarded, spring)) {
          var found = served.get("/" + act, token);
          assertEquals(expected.statusCode(), found.statusCode(), act);
          assertEquals(withoutPort(expected.body()), withoutPort(found.body()), act);
          assertEquals(
              expected.headers().map().get("x-own"), found.headers().map().get("x-own"), act);
        }
      }
    }
  }
}
