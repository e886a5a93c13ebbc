package com.portcullis.client;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedOutputStream;
import com.portcullis.v1.CheckRequest;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HashMap;
import java.util.Map;

/** Answers that may be reused for the time that each of them states. */
final class AnswerCache {
  private static final int ANSWERS_MAX = 1_000;

  private final Map<ByteString, Cached> answers = new HashMap<>();

  private record Cached(Answer answer, long until) {}

  /** Names a question. The tokens themselves are not kept. */
  static ByteString keyOf(CheckRequest request) {
    var encoded = new byte[request.getSerializedSize()];
    try {
      var output = CodedOutputStream.newInstance(encoded);
      output.useDeterministicSerialization();
      request.writeTo(output);
      return ByteString.copyFrom(MessageDigest.getInstance("SHA-256").digest(encoded));
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    } catch (NoSuchAlgorithmException error) {
      throw new IllegalStateException(error);
    }
  }

  /** Null: there is none. */
  synchronized Answer find(ByteString key, long now) {
    var known = answers.get(key);
    return known != null && now - known.until < 0 ? known.answer : null;
  }

  synchronized void keep(ByteString key, Answer answer, long until) {
    if (answers.size() >= ANSWERS_MAX) {
      answers.clear();
    }
    answers.put(key, new Cached(answer, until));
  }
}
