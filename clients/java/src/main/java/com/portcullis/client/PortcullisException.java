package com.portcullis.client;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import io.grpc.Status;
import io.grpc.protobuf.StatusProto;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Says why a call got no answer. Treat it as a denial. */
public final class PortcullisException extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** The code of gRPC. */
  private final Status.Code code;

  private final String reason;
  private final transient List<Violation> violations;
  private final transient Map<String, String> metadata;

  /**
   * About a field of a request that is not as expected.
   *
   * @param field the field
   * @param description what was expected
   */
  public record Violation(String field, String description) {}

  PortcullisException(Status.Code code, String reason, String message) {
    this(code, reason, message, List.of(), Map.of(), null);
  }

  private PortcullisException(
      Status.Code code,
      String reason,
      String message,
      List<Violation> violations,
      Map<String, String> metadata,
      Throwable cause) {
    super(code + " " + message, cause);
    this.code = code;
    this.reason = reason;
    this.violations = violations;
    this.metadata = metadata;
  }

  /** The error of a client for an error of gRPC. */
  static PortcullisException of(Throwable error, String address) {
    var status = Status.fromThrowable(error);
    var code = status.getCode();
    var reason = "";
    var metadata = Map.<String, String>of();
    var violations = new ArrayList<Violation>();
    var message =
        status.getDescription() == null
            ? String.valueOf(status.getCause())
            : status.getDescription();
    var sent = StatusProto.fromThrowable(error);
    if (sent != null) {
      for (var detail : sent.getDetailsList()) {
        var info = unpacked(detail, ErrorInfo.class);
        if (info != null) {
          reason = info.getReason();
          metadata = Map.copyOf(info.getMetadataMap());
        }
        var badRequest = unpacked(detail, BadRequest.class);
        if (badRequest != null) {
          badRequest
              .getFieldViolationsList()
              .forEach(
                  each -> violations.add(new Violation(each.getField(), each.getDescription())));
        }
      }
    }
    if (reason.isEmpty() && code == Status.Code.DEADLINE_EXCEEDED) {
      message = "no answer from " + address + " in time";
    }
    if (reason.isEmpty() && code == Status.Code.UNAVAILABLE) {
      message = "no sidecar answers at " + address + " (" + message + ")";
    }
    return new PortcullisException(code, reason, message, List.copyOf(violations), metadata, error);
  }

  private static <T extends com.google.protobuf.Message> T unpacked(Any detail, Class<T> type) {
    try {
      return detail.is(type) ? detail.unpack(type) : null;
    } catch (InvalidProtocolBufferException error) {
      // The code and the message are enough.
      return null;
    }
  }

  /** The message without the code. */
  String explanation() {
    return getMessage().substring(code.name().length() + 1);
  }

  /** {@return the code of gRPC} */
  public Status.Code code() {
    return code;
  }

  /**
   * {@return the reason of the sidecar, for example "LOGIN_FAILED"} Empty if no sidecar answered.
   */
  public String reason() {
    return reason;
  }

  /** {@return the fields of the request that are not as expected} */
  public List<Violation> violations() {
    return violations == null ? List.of() : violations;
  }

  /** {@return further facts, for example a plan for APIs that no single token opens} */
  public Map<String, String> metadata() {
    return metadata == null ? Map.of() : metadata;
  }
}
