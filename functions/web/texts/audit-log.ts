import type { ShownField } from '#shared/audit/fields.ts'
import type { BounceCause } from '#shared/mail/bounces.ts'
import type { UnreachableReason } from '#shared/outbound/bounded-request.ts'
import type { REFUSED } from '#shared/suppliers/ask-vendor.ts'
import type { Opening } from '#shared/suppliers/open-credential.ts'
import type { Language } from '#shared/schema/language.ts'
import { byLanguage } from '#web/texts/by-language.ts'

/** What the fields of entries are called. */
const FIELDS: Readonly<Record<ShownField, Readonly<Record<Language, string>>>> = {
  legal_name: { en: 'Name', es: 'Nombre' },
  name: { en: 'Name', es: 'Nombre' },
  label: { en: 'Name', es: 'Nombre' },
  number: { en: 'Number', es: 'Número' },
  customer_name: { en: 'Customer', es: 'Cliente' },
  email: { en: 'Address', es: 'Dirección' },
  role: { en: 'Role', es: 'Rol' },
  based_on: { en: 'Based on', es: 'Basado en' },
  permissions: { en: 'Permissions', es: 'Permisos' },
  status: { en: 'Status', es: 'Estado' },
  timezone: { en: 'Time zone', es: 'Zona horaria' },
  currency: { en: 'Currency', es: 'Moneda' },
  changed_settings: { en: 'Other settings', es: 'Otros ajustes' },
  lines: { en: 'Lines', es: 'Líneas' },
  min_quantities: { en: 'Price breaks from', es: 'Precios por cantidad desde' },
  file_name: { en: 'File', es: 'Archivo' },
  vendor: { en: 'Vendor', es: 'Proveedor' },
  account_number: { en: 'Account number', es: 'Número de cuenta' },
  last_error: { en: 'Failure', es: 'Fallo' },
  left: { en: 'Left by themselves', es: 'Se fue por su cuenta' },
  withdraw_most: { en: 'Withdraws most products', es: 'Retira la mayoría de los productos' },
  cause: { en: 'Cause', es: 'Causa' },
  service: { en: 'Service', es: 'Servicio' },
  reason: { en: 'Reason', es: 'Motivo' },
  codes_left: { en: 'Codes left', es: 'Códigos restantes' },
  entries: { en: 'Entries', es: 'Entradas' },
  format: { en: 'Format', es: 'Formato' },
  expires_at: { en: 'Expires', es: 'Caduca' },
  oldest: { en: 'Oldest entry', es: 'Entrada más antigua' },
  newest: { en: 'Newest entry', es: 'Entrada más reciente' },
  action: { en: 'What', es: 'Qué' },
  slug: { en: 'Short name', es: 'Nombre corto' },
}
const fields = byLanguage(FIELDS)

const CAUSES: Readonly<Record<BounceCause | UnreachableReason | typeof REFUSED, Readonly<Record<Language, string>>>> = {
  bounce: { en: 'the mailbox did not accept it', es: 'el buzón no lo aceptó' },
  complaint: { en: 'it was reported as unwanted', es: 'se denunció como no deseado' },
  suppressed: { en: 'the address did not accept mail before', es: 'la dirección no aceptó correo antes' },
  refused: { en: 'the vendor refused the key', es: 'el proveedor rechazó la clave' },
  not_configured: { en: 'no address of the vendor is set', es: 'no hay ninguna dirección del proveedor' },
  timeout: { en: 'the vendor did not answer in time', es: 'el proveedor no respondió a tiempo' },
  connection_failed: { en: 'the vendor could not be reached', es: 'no se pudo contactar con el proveedor' },
  tls_failed: { en: 'there was no secure connection to the vendor', es: 'no hubo conexión segura con el proveedor' },
  throttled: { en: 'the vendor had too many requests', es: 'el proveedor tenía demasiadas solicitudes' },
  redirected: { en: 'the vendor named another address', es: 'el proveedor indicó otra dirección' },
  vendor_error: { en: 'the vendor had a failure', es: 'el proveedor tuvo un fallo' },
  too_large: { en: 'the response of the vendor was too large', es: 'la respuesta del proveedor fue demasiado grande' },
  unexpected_response: {
    en: 'the response of the vendor was unreadable',
    es: 'la respuesta del proveedor no se pudo leer',
  },
}
const causes = byLanguage(CAUSES)

/** The reasons that the service gives itself. Others are what somebody wrote. */
const REASONS: Readonly<Record<Opening['reason'] | 'too many sessions', Readonly<Record<Language, string>>>> = {
  'too many sessions': { en: 'too many sessions', es: 'demasiadas sesiones abiertas' },
  verify: { en: 'to verify the account', es: 'verificar la cuenta' },
  rotate: { en: 'to replace the key', es: 'sustituir la clave' },
  catalog: { en: 'to sync the catalog', es: 'sincronizar el catálogo' },
}
const reasons = byLanguage(REASONS)

const both = (parts: readonly (string | null)[]): string => parts.filter((part) => part !== null).join('; ')

const en = {
  title: 'Audit log',
  filters: 'Find entries',
  who: 'Who (name or address)',
  action: 'What',
  anything: 'Anything',
  from: 'From',
  to: 'To',
  signIns: 'Sign-ins',
  leftOut: 'Left out',
  included: 'Shown',
  entriesOf: 'Entries of',
  everybody: 'Show everybody',
  nobody: 'No present or former member of the shop has such a name or address.',
  noneTitle: 'No entries found',
  none: 'Nothing fits the filters. Choose a longer time, or another person.',
  place: (first: string, last: string, total: string) => `Entries ${first} to ${last} of ${total}`,
  moreThan: (total: string) => `more than ${total}`,
  system: 'The platform',
  key: (name: string) => `The API key ${name}`,
  somebody: 'somebody',
  other: (who: string, action: string) => `${who}: ${action}.`,
  changed: (label: string, was: string, is: string) => `${label}: from ${was} to ${is}`,
  is: (label: string, is: string) => `${label}: ${is}`,
  was: (label: string, was: string) => `${label} until then: ${was}`,
  list: (label: string, added: string | null, removed: string | null) =>
    `${label}: ${both([added && `added ${added}`, removed && `removed ${removed}`])}`,
  yes: 'yes',
  no: 'no',
  nothing: 'none',
  dealStatuses: { draft: 'Draft', quoted: 'Quoted', won: 'Won', lost: 'Lost' },
  download: 'Download',
  downloadTitle: 'Download the audit log',
  downloadText: 'The files contain the entries that the filters find. Each download becomes an entry of the log.',
  downloadCsv: 'As CSV, for spreadsheets',
  downloadNdjson: 'As NDJSON, for programs',
  part: (entries: string, newest: string, oldest: string) => `${entries} entries, from ${newest} back to ${oldest}.`,
  morePart: 'That is all that fits into one file. Continue with the next file.',
  nextPart: 'Next file',
  asOf: (shop: string, time: string) => `${shop}, as of ${time}`,
  filter: (filters: string) => `Filter: ${filters}`,
  causes: causes.en,
  reasons: reasons.en,
  fields: fields.en,
}

const es: typeof en = {
  title: 'Registro de auditoría',
  filters: 'Buscar entradas',
  who: 'Quién (nombre o dirección)',
  action: 'Qué',
  anything: 'Cualquier cosa',
  from: 'Desde',
  to: 'Hasta',
  signIns: 'Inicios de sesión',
  leftOut: 'Omitidos',
  included: 'Mostrados',
  entriesOf: 'Entradas de',
  everybody: 'Mostrar a todos',
  nobody: 'Ningún miembro actual o anterior de la tienda tiene ese nombre o esa dirección.',
  noneTitle: 'No se encontraron entradas',
  none: 'Nada coincide con los filtros. Elija un período más largo u otra persona.',
  place: (first, last, total) => `Entradas ${first} a ${last} de ${total}`,
  moreThan: (total) => `más de ${total}`,
  system: 'La plataforma',
  key: (name) => `La clave de API ${name}`,
  somebody: 'alguien',
  other: (who, action) => `${who}: ${action}.`,
  changed: (label, was, is) => `${label}: de ${was} a ${is}`,
  is: (label, is) => `${label}: ${is}`,
  was: (label, was) => `${label} hasta entonces: ${was}`,
  list: (label, added, removed) =>
    `${label}: ${both([added && `se añadió ${added}`, removed && `se quitó ${removed}`])}`,
  yes: 'sí',
  no: 'no',
  nothing: 'ninguno',
  dealStatuses: { draft: 'Borrador', quoted: 'Cotizado', won: 'Ganado', lost: 'Perdido' },
  download: 'Descargar',
  downloadTitle: 'Descargar el registro de auditoría',
  downloadText:
    'Los archivos contienen las entradas que encuentran los filtros. Cada descarga queda anotada en el registro.',
  downloadCsv: 'Como CSV, para hojas de cálculo',
  downloadNdjson: 'Como NDJSON, para programas',
  part: (entries, newest, oldest) => `${entries} entradas, desde ${newest} hacia atrás hasta ${oldest}.`,
  morePart: 'Es todo lo que cabe en un archivo. Continúe con el archivo siguiente.',
  nextPart: 'Archivo siguiente',
  asOf: (shop, time) => `${shop}, a ${time}`,
  filter: (filters) => `Filtro: ${filters}`,
  causes: causes.es,
  reasons: reasons.es,
  fields: fields.es,
}

/** What the pages of the audit log say. A start of the front end does not read it. */
export const auditLog = { en, es }
