import { PERMITTED } from '#shared/identity/permissions.ts'
import { byLanguage } from '#web/texts/by-language.ts'
import type { About } from '#web/texts/notice-text.ts'

const permissions = byLanguage(PERMITTED)

const en = {
  careful:
    'Careful: whoever has this role can invite people, change their roles, end their sessions, remove them, and read the audit log.',
  carefulYou: 'They can also do this to you.',
  labelTaken: 'A role of this name exists already. Choose another name.',
  everything: 'do everything',
  codeFormat: 'Use 2 to 32 lowercase letters, digits and hyphens, and begin with a letter.',
  permissions: permissions.en,
  navigation: { label: 'Roles', purpose: 'What each role may do. Add roles of your own.' },
  notices: {
    'role-created': ({ role }: About) => `The role ${role} was added.`,
    'role-updated': ({ role }: About) => `The role ${role} was saved.`,
    'role-deleted': ({ role }: About) => (role === '' ? 'The role was deleted.' : `The role ${role} was deleted.`),
  },
}

const es: typeof en = {
  careful:
    'Cuidado: quien tiene este rol puede invitar a personas, cambiar sus roles, terminar sus sesiones, quitarlas y leer el registro de auditoría.',
  carefulYou: 'También puede hacérselo a usted.',
  labelTaken: 'Ya existe un rol con este nombre. Elija otro nombre.',
  everything: 'hacer todo',
  codeFormat: 'Use de 2 a 32 letras minúsculas, cifras y guiones, y empiece con una letra.',
  permissions: permissions.es,
  navigation: { label: 'Roles', purpose: 'Qué puede hacer cada rol. Añada sus propios roles.' },
  notices: {
    'role-created': ({ role }) => `Se añadió el rol ${role}.`,
    'role-updated': ({ role }) => `Se guardó el rol ${role}.`,
    'role-deleted': ({ role }) => (role === '' ? 'Se eliminó el rol.' : `Se eliminó el rol ${role}.`),
  },
}

/** What the front end says of roles outside of their pages, and of a form that it refuses. */
export const roles = { en, es }
