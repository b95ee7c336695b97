import { AUDIT_TEXTS } from '#shared/audit/actions.ts'
import { byLanguage } from '#web/texts/by-language.ts'

const actions = byLanguage(AUDIT_TEXTS)

const en = {
  title: 'Audit log',
  filters: 'Find entries',
  actor: 'Who',
  anybody: 'Anybody',
  action: 'What',
  anything: 'Anything',
  from: 'From',
  to: 'To',
  notADay: (first: string, last: string) => `Enter a day from ${first} to ${last}.`,
  noneTitle: 'No entries found',
  none: 'Nothing fits the filters. Choose a longer time, or another person.',
  system: 'The platform',
  somebody: 'somebody',
  other: (who: string, action: string) => `${who}: ${action}.`,
  actions: actions.en,
  navigation: { label: 'Audit log', purpose: 'Who did what, and when.' },
}

const es: typeof en = {
  title: 'Registro de auditoría',
  filters: 'Buscar entradas',
  actor: 'Quién',
  anybody: 'Cualquiera',
  action: 'Qué',
  anything: 'Cualquier cosa',
  from: 'Desde',
  to: 'Hasta',
  notADay: (first, last) => `Escriba un día entre el ${first} y el ${last}.`,
  noneTitle: 'No se encontraron entradas',
  none: 'Nada coincide con los filtros. Elija un período más largo u otra persona.',
  system: 'La plataforma',
  somebody: 'alguien',
  other: (who, action) => `${who}: ${action}.`,
  actions: actions.es,
  navigation: { label: 'Auditoría', purpose: 'Quién hizo qué, y cuándo.' },
}

export const auditLog = { en, es }
