import type { Device } from '#shared/schema/device.ts'
import type { Language } from '#shared/schema/language.ts'

const device =
  (other: string, on: (browser: string, system: string) => string) =>
  ({ browser, system }: Device): string | null => {
    if (system === null) return browser
    return on(browser ?? other, system)
  }

/** What every mail says. `device` is null for a device of which nothing is known. */
export const COMMON_TEXTS = {
  en: {
    greeting: (name: string) => `Hello ${name},`,
    fallback: 'Or open this address:',
    sent: (platform: string, account: string) => `${platform} sent this email to ${account}.`,
    support: 'Help',
    supportBy: (address: string) => `Help: reply to this email, or write to ${address}`,
    privacy: 'Privacy',
    device: device('a program', (browser, system) => `${browser} on ${system}`),
  },
  es: {
    greeting: (name: string) => `Hola, ${name}:`,
    fallback: 'O abra esta dirección:',
    sent: (platform: string, account: string) => `${platform} envió este correo a ${account}.`,
    support: 'Ayuda',
    supportBy: (address: string) => `Ayuda: responda a este correo o escriba a ${address}`,
    privacy: 'Privacidad',
    device: device('un programa', (browser, system) => `${browser} en ${system}`),
  },
} satisfies Readonly<Record<Language, unknown>>
