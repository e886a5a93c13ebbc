package com.portcullis.client;

import com.google.protobuf.Duration;
import com.google.protobuf.Timestamp;
import com.portcullis.v1.AuthorizationServiceGrpc.AuthorizationServiceImplBase;
import com.portcullis.v1.CheckRequest;
import com.portcullis.v1.CheckResponse;
import com.portcullis.v1.GetMatrixRequest;
import com.portcullis.v1.GetMatrixResponse;
import com.portcullis.v1.IssueRequest;
import com.portcullis.v1.IssueResponse;
import com.portcullis.v1.Position;
import com.portcullis.v1.Reason;
import com.portcullis.v1.Subject;
import com.portcullis.v1.VerifiedToken;
import com.portcullis.v1.Voided;
import com.portcullis.v1.WatchChangesRequest;
import com.portcullis.v1.WatchChangesResponse;
import io.grpc.BindableService;
import io.grpc.InsecureServerCredentials;
import io.grpc.Server;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/** A sidecar that says what a test wants. It issues tokens "token-1", "token-2" and so on. */
class FakeSidecar extends AuthorizationServiceImplBase implements AutoCloseable {
  final AtomicInteger checks = new AtomicInteger();
  final AtomicInteger watches = new AtomicInteger();
  final List<IssueRequest> issued = new CopyOnWriteArrayList<>();

  /** Null: it is older, and has no such stream. */
  volatile Consumer<StreamObserver<WatchChangesResponse>> watch;

  /** Of each token that it verifies. */
  volatile String kind = "static_token";

  /** By which it decides. */
  volatile String rules = "shipped";

  /** Of each token that it issues. Empty: they are sent alone, in X-Auth-Token. */
  volatile String scheme = "";

  /** Null: tokens never expire. */
  volatile java.time.Duration lifetime;

  volatile boolean isFailing;

  /** Whether it leaves checks without an answer. */
  volatile boolean isSilent;

  /** Of each token that it verifies. Null: it says none. */
  volatile Timestamp issuedAt;

  /** Until it opens, no token is issued. */
  volatile CountDownLatch gate = new CountDownLatch(0);

  /** Of its matrix. Null: it does not say them, and knows every API. */
  volatile List<String> apis;

  final AtomicInteger matrices = new AtomicInteger();

  private final Server server;

  FakeSidecar() {
    this(0);
  }

  /**
   * @param port 0: any
   */
  FakeSidecar(int port) {
    server = serve(port, this);
  }

  static Server serve(BindableService service, ServerInterceptor... interceptors) {
    return serve(0, service, interceptors);
  }

  private static Server serve(
      int port, BindableService service, ServerInterceptor... interceptors) {
    try {
      var builder =
          NettyServerBuilder.forAddress(
              new InetSocketAddress("127.0.0.1", port), InsecureServerCredentials.create());
      for (var each : interceptors) {
        builder.intercept(each);
      }
      return builder.addService(service).build().start();
    } catch (IOException error) {
      throw new IllegalStateException(error);
    }
  }

  int port() {
    return server.getPort();
  }

  String address() {
    return "127.0.0.1:" + port();
  }

  @Override
  public void close() {
    server.shutdownNow();
  }

  @Override
  public void watchChanges(
      WatchChangesRequest request, StreamObserver<WatchChangesResponse> observer) {
    watches.incrementAndGet();
    if (watch == null) {
      super.watchChanges(request, observer);
    } else {
      watch.accept(observer);
    }
  }

  static WatchChangesResponse.Builder firstResponse() {
    return WatchChangesResponse.newBuilder()
        .setPosition(Position.getDefaultInstance())
        .setRules(ConformanceTest.rulesOf("shipped"))
        .setVoided(Voided.newBuilder().setEverything(true))
        .setValidFor(Duration.newBuilder().setSeconds(60))
        .setSentAt(Duration.newBuilder().setSeconds(1));
  }

  @Override
  public void getMatrix(GetMatrixRequest request, StreamObserver<GetMatrixResponse> observer) {
    var known = apis;
    matrices.incrementAndGet();
    if (known == null) {
      super.getMatrix(request, observer);
      return;
    }
    var response = GetMatrixResponse.newBuilder();
    known.forEach(each -> response.getMatrixBuilder().addApisBuilder().setId(each));
    observer.onNext(response.build());
    observer.onCompleted();
  }

  @Override
  public void check(CheckRequest request, StreamObserver<CheckResponse> observer) {
    checks.incrementAndGet();
    if (isSilent) {
      return;
    }
    if (apis != null && !apis.contains(request.getApi())) {
      observer.onNext(CheckResponse.newBuilder().setReason(Reason.REASON_UNKNOWN_API).build());
      observer.onCompleted();
      return;
    }
    var token =
        VerifiedToken.newBuilder()
            .setTokenId("id")
            .setKind(kind)
            .setScope(new Scope(Sidecar.ACCOUNT).message())
            .setSubject(Subject.newBuilder().setId("holder"));
    if (issuedAt != null) {
      token.setIssuedAt(issuedAt);
    }
    observer.onNext(
        CheckResponse.newBuilder()
            .setAllowed(true)
            .setReason(Reason.REASON_ALLOWED)
            .setVerified(true)
            .setPosition(Position.getDefaultInstance())
            .setToken(token)
            .setRulesDigest(ConformanceTest.rulesOf(rules).getMatrix().getRulesDigest())
            .setCacheFor(Duration.newBuilder().setSeconds(60))
            .build());
    observer.onCompleted();
  }

  @Override
  public void issue(IssueRequest request, StreamObserver<IssueResponse> observer) {
    issued.add(request);
    var number = issued.size();
    try {
      gate.await();
    } catch (InterruptedException error) {
      throw new IllegalStateException(error);
    }
    if (isFailing) {
      observer.onError(Status.UNAVAILABLE.asRuntimeException());
      return;
    }
    var response =
        IssueResponse.newBuilder()
            .setHeader(scheme.isEmpty() ? "X-Auth-Token" : "Authorization")
            .setScheme(scheme)
            .setValue("token-" + number);
    if (lifetime != null) {
      response.setExpiresAt(
          Timestamp.newBuilder().setSeconds(Instant.now().plus(lifetime).getEpochSecond()));
    }
    observer.onNext(response.build());
    observer.onCompleted();
  }
}
