import type { Option } from '#web/view/choices.ts'
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

/** The zones of most shops, from east to west. */
const HOME = [
  'America/New_York',
  'America/Chicago',
  'America/Denver',
  'America/Phoenix',
  'America/Los_Angeles',
  'America/Anchorage',
  'Pacific/Honolulu',
  'America/Puerto_Rico',
] as const

// Intl needs a second for the names of all zones, so only the first have one.
const commonName = (zone: string, locale: string): string => {
  const parts = new Intl.DateTimeFormat(locale, { timeZone: zone, timeZoneName: 'longGeneric' }).formatToParts()
  const name = parts.find(({ type }) => type === 'timeZoneName')?.value ?? zone
  return `${name.charAt(0).toUpperCase()}${name.slice(1)}`
}

/** Returns the city of a zone, and where it is: ["Buenos Aires", "America/Argentina"]. */
function placeOf(zone: string): readonly [city: string, region: string] {
  const at = zone.lastIndexOf('/')
  return [zone.slice(at + 1).replaceAll('_', ' '), zone.slice(0, Math.max(at, 0)).replaceAll('_', ' ')]
}

/**
 * The time zones that a shop may choose: those of most shops by their common names, and then all others by their city, UTC first.
 * They are the zones of Intl, which Node keeps up to date, in their present spelling.
 */
export const zones = kept(
  (locale: string): { readonly home: readonly Option[]; readonly others: readonly Option[] } => {
    const names = Intl.supportedValuesOf('timeZone').map((name) => RENAMED[name] ?? name)
    const isHome = new Set<string>(['UTC', ...HOME])
    const others = [...new Set(names)]
      .filter((name) => !isHome.has(name))
      .map((value) => {
        const [city, region] = placeOf(value)
        return { value, label: region === '' ? city : `${city} · ${region}` }
      })
      .toSorted((a, b) => a.label.localeCompare(b.label, locale))
    const home = HOME.map((value) => ({ value, label: `${commonName(value, locale)} (${placeOf(value)[0]})` }))
    return { home, others: [{ value: 'UTC', label: 'UTC' }, ...others] }
  },
)
