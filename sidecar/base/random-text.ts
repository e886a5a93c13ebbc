/** Random texts: ids, passwords and secrets that people copy. */
import { randomBytes } from 'node:crypto'

/**
 * So many random bytes as text that no shell and no URL changes: letters, digits, `-` and `_`. It never
 * begins with `-`, which a command would take for an option.
 */
export function randomText(bytes: number): string {
  for (;;) {
    const text = randomBytes(bytes).toString('base64url')
    if (!text.startsWith('-')) return text
  }
}
