/**
 * Tells systemd that the sidecar is ready, so that a unit of `Type=notify` becomes active then and not
 * before.
 */
import { execFile } from 'node:child_process'

/**
 * Node has no datagram sockets of Unix, so systemd's own command sends the message. The unit must allow that
 * with `NotifyAccess=all`. Without the message systemd ends the unit after a time, and the line on standard
 * error says why.
 */
export function tellReady(): void {
  execFile('systemd-notify', ['--ready'], (error) => {
    if (error)
      process.stderr.write(`portcullis: cannot notify systemd that the sidecar is ready: ${error.message}\n`)
  })
}
