import { type Device, deviceOf } from '#shared/schema/device.ts'
import type { sessionsPage } from '#web/texts/sessions-page.ts'

type Texts = (typeof sessionsPage)['en']

/** Returns a User-Agent header in words: "Firefox on Windows". A program that is no browser is named by its system alone. */
export function deviceName(userAgent: string | null, texts: Texts): string {
  const { browser, system } = deviceOf(userAgent)
  if (browser !== null) return system === null ? browser : texts.onSystem(browser, system)
  return system === null ? texts.otherDevice : texts.otherOnSystem(system)
}

const KINDS = {
  Android: 'phone',
  iPhone: 'phone',
  iPad: 'tablet',
  Windows: 'computer',
  macOS: 'computer',
  ChromeOS: 'computer',
  Linux: 'computer',
} as const satisfies Readonly<Record<NonNullable<Device['system']>, keyof Texts>>

/** Returns what kind of device a User-Agent header names, or null. */
export function deviceKind(userAgent: string | null, texts: Texts): string | null {
  const { system } = deviceOf(userAgent)
  return system === null ? null : texts[KINDS[system]]
}
