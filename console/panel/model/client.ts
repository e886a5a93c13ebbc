/** What a browser says of itself, in a few words. It is a help to recognize a session, and proves nothing. */

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

export interface ClientName {
  readonly browser: string | undefined
  readonly system: string | undefined
}

/** @param userAgent as the browser sent it */
export function clientOf(userAgent: string): ClientName {
  return {
    browser: BROWSERS.find(([, pattern]) => pattern.test(userAgent))?.[0],
    system: SYSTEMS.find(([, pattern]) => pattern.test(userAgent))?.[0],
  }
}
