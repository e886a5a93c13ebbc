package com.portcullis.client;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ForwardingClientCall.SimpleForwardingClientCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** The secrets that a program presents with each call: secrets that say who it is. */
final class Presented implements ClientInterceptor {
  /** Time between two looks at the file of the caller token. */
  private static final long FILE_FRESH_NS = 10_000_000_000L;

  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);
  private static final Metadata.Key<String> IAM_TOKEN =
      Metadata.Key.of("x-auth-token", Metadata.ASCII_STRING_MARSHALLER);

  /** Null: there is none. */
  private final Path file;

  private final String iamToken;

  /** Empty: there is none. */
  private String callerToken;

  private long readAt;

  /**
   * @throws IllegalArgumentException a token has other characters than visible ASCII
   * @throws UncheckedIOException the file cannot be read
   */
  Presented(String callerToken, Path file, String iamToken) {
    this.file = file;
    this.iamToken = secretIn(iamToken, "iamToken");
    this.callerToken = secretIn(callerToken, "callerToken");
    if (file != null) {
      try {
        read();
      } catch (IOException error) {
        throw new UncheckedIOException("callerTokenFile: " + error.getMessage(), error);
      }
    }
  }

  boolean isEmpty() {
    return callerToken.isEmpty() && iamToken.isEmpty();
  }

  /** The token stays if it cannot be read again: the old one may still count. */
  synchronized String callerToken(long now) {
    if (file != null && now - readAt > FILE_FRESH_NS) {
      try {
        read();
      } catch (IOException | IllegalArgumentException error) {
        return callerToken;
      }
    }
    return callerToken;
  }

  private void read() throws IOException {
    readAt = System.nanoTime();
    // Bytes that are not UTF-8 become a character that no token has.
    var text = new String(Files.readAllBytes(file), StandardCharsets.UTF_8);
    var token = secretIn(text, "callerTokenFile");
    if (token.isEmpty()) {
      throw new IllegalArgumentException("callerTokenFile: expected a token");
    }
    callerToken = token;
  }

  /**
   * The secret in the text of a file or a variable. A byte order mark and white space around it are
   * not part of it.
   */
  private static String secretIn(String text, String name) {
    var token = (text.startsWith("\uFEFF") ? text.substring(1) : text).strip();
    if (token.chars().anyMatch(each -> each < 0x21 || each > 0x7e)) {
      throw new IllegalArgumentException(
          name + ": expected visible ASCII characters without spaces");
    }
    return token;
  }

  @Override
  public <Q, A> ClientCall<Q, A> interceptCall(
      MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
    return new SimpleForwardingClientCall<>(next.newCall(method, options)) {
      @Override
      public void start(Listener<A> listener, Metadata metadata) {
        var token = callerToken(System.nanoTime());
        if (!token.isEmpty()) {
          metadata.put(AUTHORIZATION, "Bearer " + token);
        }
        if (!iamToken.isEmpty()) {
          metadata.put(IAM_TOKEN, iamToken);
        }
        super.start(listener, metadata);
      }
    };
  }
}
