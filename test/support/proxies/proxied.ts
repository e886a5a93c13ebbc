/**
 * A sidecar behind a proxy on this machine: the secret by which the proxy is known, and the configuration
 * that knows it.
 */
import { newFile } from '../suite/resources.ts'

export const PROXY_SECRET = 'a-secret-that-the-proxy-alone-can-read'

/** `http` of the configuration. @param more other keys, such as `authorize` for a proxy that asks */
export function httpBehindProxy<More extends object>(more: More) {
  return {
    trusted_proxies: ['127.0.0.1'],
    proxy_secret_file: newFile(PROXY_SECRET, 'proxy.secret'),
    ...more,
  }
}
