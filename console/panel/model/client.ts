/** A browser's name for itself, in a few words. It is a help to recognize a session, and proves nothing. */
import { texts } from '../../texts/en/profile.ts'

const BROWSERS: readonly (readonly [name: string, pattern: RegExp])[] = [
  ['Edge', /\bEdg(?:e|A|iOS)?\//],
  ['Opera', /\bOPR\//],
  ['Samsung Internet', /\bSamsungBrowser\//],
  ['Firefox', /\b(?:Firefox|FxiOS)\//],
  ['Chrome', /\b(?:HeadlessChrome|Chrome|CriOS|Chromium)\//],
  ['Safari', /\bSafari\//],
  ['curl', /^curl\//],
]

const SYSTEMS: readonly (readonly [name: string, pattern: RegExp])[] = [
  ['iPhone', /\biPhone\b/],
  ['iPad', /\biPad\b/],
  ['Android', /\bAndroid\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMac OS X\b|\bMacintosh\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['Linux', /\bLinux\b/],
]

/** “Chrome on Linux”. @param userAgent as the browser sent it; empty: it sent nothing */
export function clientOf(userAgent: string): string {
  const named = (rows: typeof BROWSERS) => rows.find(([, pattern]) => pattern.test(userAgent))?.[0]
  return texts.sessions.client(named(BROWSERS), named(SYSTEMS))
}
