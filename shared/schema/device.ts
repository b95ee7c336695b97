// The first that fits: Edge and Opera name Chrome too, Chrome names Safari, and Android names Linux.
const BROWSER_PATTERNS = {
  Edge: /\bEdg(e|A|iOS)?\//,
  Opera: /\bOPR\//,
  Firefox: /\b(Firefox|FxiOS)\//,
  Chrome: /\b(Chrome|CriOS|HeadlessChrome)\//,
  Safari: /\bSafari\//,
} as const
const SYSTEM_PATTERNS = {
  Android: /\bAndroid\b/,
  iPhone: /\biPhone\b/,
  iPad: /\biPad\b/,
  Windows: /\bWindows\b/,
  macOS: /\bMac OS X\b/,
  ChromeOS: /\bCrOS\b/,
  Linux: /\bLinux\b/,
} as const

type Browser = keyof typeof BROWSER_PATTERNS
type System = keyof typeof SYSTEM_PATTERNS

/** What a User-Agent header says, in names that we choose. Null is what it does not say. */
export interface Device {
  readonly browser: Browser | null
  readonly system: System | null
}

const namesOf = <Name extends string>(patterns: Readonly<Record<Name, RegExp>>): [Name, ...Name[]] =>
  // An object literal with members.
  Object.keys(patterns) as [Name, ...Name[]]

export const BROWSERS = namesOf(BROWSER_PATTERNS)
export const SYSTEMS = namesOf(SYSTEM_PATTERNS)

/** Returns the browser and the system that a User-Agent header names. */
export function deviceOf(userAgent: string | null): Device {
  const text = userAgent ?? ''
  return {
    browser: BROWSERS.find((name) => BROWSER_PATTERNS[name].test(text)) ?? null,
    system: SYSTEMS.find((name) => SYSTEM_PATTERNS[name].test(text)) ?? null,
  }
}
