package com.portcullis.client;

import java.nio.file.Path;
import java.util.regex.Pattern;

/** Addresses of sidecars. */
final class Address {
  private static final Pattern LOOPBACK =
      Pattern.compile("localhost|127(\\.(25[0-5]|2[0-4]\\d|1?\\d?\\d)){3}|(0*:)+:?0*1");
  private static final String UNIX = "unix:";

  private Address() {}

  /** The address as gRPC for Java takes it: a Unix socket needs its whole path. */
  static String target(String address) {
    if (!address.startsWith(UNIX)) {
      return address;
    }
    var path = address.substring(UNIX.length());
    return UNIX
        + "//"
        + Path.of(path.replaceFirst("^//+", "/")).toAbsolutePath().toUri().getRawPath();
  }

  /**
   * Whether it is on this machine: a Unix socket or loopback. A name that only resolves to loopback
   * is not.
   */
  static boolean isThisMachine(String address) {
    if (address.startsWith(UNIX)) {
      return true;
    }
    var host = address.replaceFirst("^dns:(///)?", "");
    if (host.startsWith("[")) {
      host = host.replaceFirst("^\\[([^\\]]*)\\](:\\d+)?$", "$1");
      return host.contains(":") && LOOPBACK.matcher(host).matches();
    }
    return LOOPBACK.matcher(host.replaceFirst("^([^:]*):\\d+$", "$1")).matches();
  }
}
