/** The settings of both sides (RFC 9113, §6.5). */
import type { Limits } from './limits.ts'
import {
  ConnectionError,
  ERROR,
  FRAME_BYTES_DEFAULT,
  FRAME_BYTES_MAX,
  SETTING,
  SETTING_BYTES,
  WINDOW_MAX,
} from './protocol.ts'
import { initialWindowOf } from './stream-windows.ts'

/** The payload of the settings that a connection begins with. */
export function settingsPayload(limits: Limits): Buffer {
  const { streams, headerListBytes } = limits
  const rows: readonly (readonly [setting: number, value: number])[] = [
    [SETTING.maxConcurrentStreams, streams],
    [SETTING.initialWindowSize, initialWindowOf(limits)],
    [SETTING.maxHeaderListSize, headerListBytes],
  ]
  const payload = Buffer.alloc(rows.length * SETTING_BYTES)
  for (const [index, [setting, value]] of rows.entries()) {
    payload.writeUInt16BE(setting, index * SETTING_BYTES)
    payload.writeUInt32BE(value, index * SETTING_BYTES + 2)
  }
  return payload
}

/** The parts that the peer's settings change. */
export interface SettingsTaker {
  headerTableSize(bytes: number): void
  initialWindow(bytes: number): void
}

/** Applies the peer's settings in their order (§6.5.3). @throws ConnectionError if a value is invalid */
export function applySettings(bytes: Buffer, start: number, end: number, taker: SettingsTaker): void {
  let initialWindow: number | undefined
  for (let at = start; at < end; at += SETTING_BYTES) {
    const value = bytes.readUInt32BE(at + 2)
    switch (bytes.readUInt16BE(at)) {
      case SETTING.headerTableSize:
        taker.headerTableSize(value)
        break
      case SETTING.enablePush:
        if (value > 1) throw new ConnectionError(ERROR.PROTOCOL_ERROR, 'SETTINGS_ENABLE_PUSH is 0 or 1')
        break
      case SETTING.initialWindowSize:
        if (value > WINDOW_MAX)
          throw new ConnectionError(
            ERROR.FLOW_CONTROL_ERROR,
            'SETTINGS_INITIAL_WINDOW_SIZE is at most 2^31-1',
          )
        initialWindow = value
        break
      case SETTING.maxFrameSize:
        // Frames of the size that every peer accepts are sent, whatever the peer allows.
        if (value < FRAME_BYTES_DEFAULT || value > FRAME_BYTES_MAX)
          throw new ConnectionError(ERROR.PROTOCOL_ERROR, 'SETTINGS_MAX_FRAME_SIZE is 2^14 to 2^24-1')
        break
      // Nothing is pushed, header lists that are sent are short, and unknown settings are ignored (§6.5.2).
    }
  }
  // Once a frame, because it costs as much as there are streams.
  if (initialWindow !== undefined) taker.initialWindow(initialWindow)
}
