package com.portcullis.client;

import io.grpc.Metadata;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;

/**
 * The headers of a request, as a program has them. Names may be in any case, and a value may be any
 * text.
 */
public interface Headers {
  /**
   * All values of a header.
   *
   * @param name the name, in any case
   * @return the values; empty where there is no such header
   */
  Collection<String> values(String name);

  /**
   * Calls for each value of each header.
   *
   * @param visit gets a name and a value
   */
  void forEach(BiConsumer<String, String> visit);

  /**
   * Headers in a map. It may have a name in several spellings.
   *
   * @param headers names, and the values of each
   * @return the same
   */
  static Headers of(Map<String, ? extends Collection<String>> headers) {
    return new Headers() {
      @Override
      public Collection<String> values(String name) {
        Collection<String> found = List.of();
        for (var each : headers.entrySet()) {
          if (Ascii.isSameName(each.getKey(), name)) {
            found = found.isEmpty() ? each.getValue() : joined(found, each.getValue());
          }
        }
        return found;
      }

      @Override
      public void forEach(BiConsumer<String, String> visit) {
        headers.forEach((name, values) -> values.forEach(value -> visit.accept(name, value)));
      }
    };
  }

  /**
   * One header.
   *
   * @param name the name
   * @param value the value
   * @return the same
   */
  static Headers of(String name, String value) {
    return of(Map.of(name, List.of(value)));
  }

  /**
   * The metadata of a call of gRPC, without those that are bytes.
   *
   * @param metadata of the call
   * @return the same
   */
  static Headers of(Metadata metadata) {
    return new Headers() {
      @Override
      public Collection<String> values(String name) {
        var found = isBinary(name) ? null : metadata.getAll(keyOf(name));
        if (found == null) {
          return List.of();
        }
        var values = new ArrayList<String>();
        found.forEach(values::add);
        return values;
      }

      @Override
      public void forEach(BiConsumer<String, String> visit) {
        for (var name : metadata.keys()) {
          values(name).forEach(value -> visit.accept(name, value));
        }
      }

      private boolean isBinary(String name) {
        return name.endsWith(Metadata.BINARY_HEADER_SUFFIX);
      }
    };
  }

  private static Metadata.Key<String> keyOf(String name) {
    return Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER);
  }

  private static Collection<String> joined(Collection<String> some, Collection<String> more) {
    var all = new ArrayList<>(some);
    all.addAll(more);
    return all;
  }
}
