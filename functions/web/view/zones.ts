import type { Option } from '#web/view/form.ts'
import { kept } from '#web/view/kept.ts'

/** ICU keeps the first spelling of a zone for ever: the present spelling of each that the IANA database has renamed. */
const RENAMED: Readonly<Record<string, string>> = {
  'Africa/Asmera': 'Africa/Asmara',
  'America/Buenos_Aires': 'America/Argentina/Buenos_Aires',
  'America/Catamarca': 'America/Argentina/Catamarca',
  'America/Coral_Harbour': 'America/Atikokan',
  'America/Cordoba': 'America/Argentina/Cordoba',
  'America/Godthab': 'America/Nuuk',
  'America/Indianapolis': 'America/Indiana/Indianapolis',
  'America/Jujuy': 'America/Argentina/Jujuy',
  'America/Louisville': 'America/Kentucky/Louisville',
  'America/Mendoza': 'America/Argentina/Mendoza',
  'Asia/Calcutta': 'Asia/Kolkata',
  'Asia/Katmandu': 'Asia/Kathmandu',
  'Asia/Rangoon': 'Asia/Yangon',
  'Asia/Saigon': 'Asia/Ho_Chi_Minh',
  'Atlantic/Faeroe': 'Atlantic/Faroe',
  'Europe/Kiev': 'Europe/Kyiv',
  'Pacific/Enderbury': 'Pacific/Kanton',
  'Pacific/Ponape': 'Pacific/Pohnpei',
  'Pacific/Truk': 'Pacific/Chuuk',
}

/** The time zones that a shop may choose, UTC first: those of Intl, which Node keeps up to date, in their present spelling. */
export const zones = kept((): readonly Option[] => {
  const names = Intl.supportedValuesOf('timeZone').map((name) => RENAMED[name] ?? name)
  const sorted = [...new Set(names)].filter((name) => name !== 'UTC').toSorted((a, b) => a.localeCompare(b, 'en'))
  return ['UTC', ...sorted].map((value) => ({ value, label: value }))
})
