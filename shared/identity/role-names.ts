import type { Language } from '#shared/schema/language.ts'

/** The roles of the platform by code, as people read them. The English name is the label in app.roles. */
export const ROLE_NAMES = {
  owner: { en: 'Owner', es: 'Propietario' },
  admin: { en: 'Admin', es: 'Administrador' },
  sales: { en: 'Sales', es: 'Ventas' },
  account: { en: 'Account Manager', es: 'Gestor de cuentas' },
  designer: { en: 'Designer', es: 'Diseñador' },
  production: { en: 'Production', es: 'Producción' },
  viewer: { en: 'Viewer', es: 'Lector' },
} as const satisfies Readonly<Record<string, Readonly<Record<Language, string>>>>

const isOfPlatform = (code: string): code is keyof typeof ROLE_NAMES => Object.hasOwn(ROLE_NAMES, code)

/** Returns the name of a role in a language: of the platform's roles the translated one, of a tenant's own the label. */
export const roleName = (
  language: Language,
  { code, label }: { readonly code: string; readonly label: string },
): string => (isOfPlatform(code) ? ROLE_NAMES[code][language] : label)
