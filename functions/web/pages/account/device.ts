import type { Texts } from '#web/texts/texts.ts'

// The first that fits: Edge and Opera name Chrome too, Chrome names Safari, and Android names Linux.
const BROWSERS = [
  ['Edge', /\bEdg(e|A|iOS)?\//],
  ['Opera', /\bOPR\//],
  ['Firefox', /\b(Firefox|FxiOS)\//],
  ['Chrome', /\b(Chrome|CriOS|HeadlessChrome)\//],
  ['Safari', /\bSafari\//],
] as const
const SYSTEMS = [
  ['Android', /\bAndroid\b/],
  ['iPhone', /\biPhone\b/],
  ['iPad', /\biPad\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMac OS X\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['Linux', /\bLinux\b/],
] as const

/** Returns a User-Agent header in words: "Firefox on Windows". Anything unknown is "another program". */
export function deviceOf(userAgent: string | null, texts: Texts['sessions']): string {
  const named = (names: readonly (readonly [string, RegExp])[]) =>
    names.find(([, pattern]) => pattern.test(userAgent ?? ''))?.[0]
  const [browser, system] = [named(BROWSERS), named(SYSTEMS)]
  if (browser === undefined) return texts.otherDevice
  return system === undefined ? browser : texts.onSystem(browser, system)
}
