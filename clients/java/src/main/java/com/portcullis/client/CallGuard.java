package com.portcullis.client;

import com.google.protobuf.Any;
import com.google.rpc.ErrorInfo;
import io.grpc.Attributes;
import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import io.grpc.protobuf.StatusProto;
import java.net.InetSocketAddress;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;

/**
 * Lets calls of a server of gRPC pass whose token opens an API. It answers the others itself:
 * UNAUTHENTICATED or PERMISSION_DENIED, and UNAVAILABLE where there is no answer. It asks once, at
 * the beginning of a call, and waits for the answer in a thread of the server.
 *
 * <pre>{@code
 * builder.intercept(new CallGuard(client, Map.of("accounts.Balances/Get", "balance")));
 * }</pre>
 */
public final class CallGuard extends AbstractGuard<CallGuard.Call, CallGuard>
    implements ServerInterceptor {
  private static final Context.Key<Answer> ANSWER = Context.key("portcullis");

  /**
   * A call of gRPC.
   *
   * @param method its full name, for example "grpc.health.v1.Health/Check"
   * @param metadata of the call
   * @param attributes of the connection
   * @param authority the host that the client calls; null: it names none
   * @param request its message; null where the client sends a stream of them
   */
  public record Call(
      String method, Metadata metadata, Attributes attributes, String authority, Object request) {
    String address() {
      var remote = attributes.get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR);
      return remote instanceof InetSocketAddress ip && ip.getAddress() != null
          ? ipOf(ip.getAddress().getHostAddress())
          : "";
    }
  }

  /**
   * Guards the methods of a server.
   *
   * @param client that is asked
   * @param apis APIs by the full name of a method: "grpc.health.v1.Health/Check"; a method that is
   *     not among them is denied
   */
  public CallGuard(Client client, Map<String, String> apis) {
    this(client, apiOf(Map.copyOf(apis)), Set.copyOf(apis.values()));
  }

  private CallGuard(Client client, Function<? super Call, String> apiOf, Set<String> apis) {
    super(client, apiOf, apis, Call::address);
  }

  private static Function<Call, String> apiOf(Map<String, String> apis) {
    return call -> apis.get(call.method);
  }

  /**
   * Leaves it to the routes of the sidecar which API a call asks for, and who owns the requested
   * resource. A call is a request with the method POST, the host in :authority, and the path
   * "/package.Service/Method".
   *
   * @param client that is asked
   * @return a guard without a target
   */
  public static CallGuard routes(Client client) {
    return new CallGuard(client, ROUTES, Set.of());
  }

  @Override
  Request arrived(Call call) {
    return new Request("POST", call.authority == null ? "" : call.authority, "/" + call.method);
  }

  @Override
  CallGuard self() {
    return this;
  }

  @Override
  public <Q, A> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, A> call, Metadata metadata, ServerCallHandler<Q, A> next) {
    if (!hasTarget() || !call.getMethodDescriptor().getType().clientSendsOneMessage()) {
      return begin(call, metadata, next, null);
    }
    // The request may say whose resource it asks for.
    call.request(1);
    return new Waiting<>(call, metadata, next);
  }

  private <Q, A> ServerCall.Listener<Q> begin(
      ServerCall<Q, A> call, Metadata metadata, ServerCallHandler<Q, A> next, Object request) {
    var asked =
        new Call(
            call.getMethodDescriptor().getFullMethodName(),
            metadata,
            call.getAttributes(),
            call.getAuthority(),
            request);
    var verdict = judge(asked, Headers.of(metadata));
    if (verdict.denial() == null) {
      return Contexts.interceptCall(
          Context.current().withValue(ANSWER, verdict.answer()), call, metadata, next);
    }
    var error = StatusProto.toStatusException(statusOf(verdict.denial()));
    call.close(error.getStatus(), error.getTrailers());
    return new ServerCall.Listener<>() {};
  }

  /** Waits for the message of a call, before the call begins. */
  private final class Waiting<Q, A> extends ServerCall.Listener<Q> {
    private final ServerCall<Q, A> call;
    private final Metadata metadata;
    private final ServerCallHandler<Q, A> next;
    private boolean isReady;

    /** Null: the message has not come yet. */
    private ServerCall.Listener<Q> begun;

    Waiting(ServerCall<Q, A> call, Metadata metadata, ServerCallHandler<Q, A> next) {
      this.call = call;
      this.metadata = metadata;
      this.next = next;
    }

    @Override
    public void onMessage(Q message) {
      if (begun == null) {
        begun = begin(call, metadata, next, message);
        if (isReady) {
          begun.onReady();
        }
      }
      begun.onMessage(message);
    }

    @Override
    public void onReady() {
      isReady = true;
      if (begun != null) {
        begun.onReady();
      }
    }

    @Override
    public void onHalfClose() {
      if (begun == null) {
        begun = new ServerCall.Listener<>() {};
        call.close(Status.INTERNAL.withDescription("expected a message"), new Metadata());
      }
      begun.onHalfClose();
    }

    @Override
    public void onCancel() {
      if (begun != null) {
        begun.onCancel();
      }
    }

    @Override
    public void onComplete() {
      if (begun != null) {
        begun.onComplete();
      }
    }
  }

  private static com.google.rpc.Status statusOf(Denial denial) {
    var code =
        switch (denial.status()) {
          case 401 -> Status.Code.UNAUTHENTICATED;
          case 404 -> Status.Code.NOT_FOUND;
          case 500 -> Status.Code.INTERNAL;
          case 503 -> Status.Code.UNAVAILABLE;
          default -> Status.Code.PERMISSION_DENIED;
        };
    var info = ErrorInfo.newBuilder().setReason(denial.reason()).setDomain("portcullis");
    return com.google.rpc.Status.newBuilder()
        .setCode(code.value())
        .setMessage(denial.reason() + ": " + denial.message())
        .addDetails(Any.pack(info.build()))
        .build();
  }

  /** {@return the answer that let the current call pass} Empty: no guard did. */
  public static Optional<Answer> answer() {
    return Optional.ofNullable(ANSWER.get());
  }

  /** {@return the verified token of the current call: who sent it} Empty: no guard let it pass. */
  public static Optional<Token> token() {
    return answer().flatMap(Answer::token);
  }
}
