import { PERMITTED } from '#shared/identity/permissions.ts'
import { byLanguage } from '#web/texts/by-language.ts'
import type { About } from '#web/texts/notice-text.ts'

const permissions = byLanguage(PERMITTED)

const en = {
  title: 'Roles',
  caption: 'What each role permits',
  matrix: 'What each role permits',
  may: 'May',
  yes: 'Yes',
  no: 'No',
  ofShop: 'Roles of this shop',
  choose: 'Choose',
  careful:
    'Careful: whoever has this role can invite people, change their roles, end their sessions, remove them, and read the audit log.',
  carefulYou: 'They can also do this to you.',
  labelTaken: 'A role of this name exists already. Choose another name.',
  everything: 'do everything',
  newTitle: 'Add a role',
  newText: 'A role of the shop permits what another role does, and more. Choose that other role first.',
  label: 'Name',
  code: 'Code',
  codeHint: '2 to 32 lowercase letters, digits and hyphens, such as night-shift. It cannot be changed later.',
  codeFormat: 'Use 2 to 32 lowercase letters, digits and hyphens, and begin with a letter.',
  basedOn: 'Based on',
  adds: 'It may also',
  create: 'Add the role',
  editTitle: (label: string) => `Role ${label}`,
  baseText: (base: string, may: string) => `It is based on ${base}, which may: ${may}.`,
  save: 'Save',
  nothingToAdd: 'That is all that you may permit, so there is nothing to add.',
  deleteTitle: 'Delete the role',
  deleteText: 'Only a role that no member and no invitation has can be deleted.',
  delete: 'Delete the role',
  permissions: permissions.en,
  navigation: { label: 'Roles', purpose: 'What each role may do. Add roles of your own.' },
  notices: {
    'role-created': ({ role }: About) => `The role ${role} was added.`,
    'role-updated': ({ role }: About) => `The role ${role} was saved.`,
    'role-deleted': ({ role }: About) => (role === '' ? 'The role was deleted.' : `The role ${role} was deleted.`),
  },
}

const es: typeof en = {
  title: 'Roles',
  caption: 'Lo que permite cada rol',
  matrix: 'Lo que permite cada rol',
  may: 'Puede',
  yes: 'Sí',
  no: 'No',
  ofShop: 'Roles de esta tienda',
  choose: 'Elegir',
  careful:
    'Cuidado: quien tiene este rol puede invitar a personas, cambiar sus roles, terminar sus sesiones, quitarlas y leer el registro de auditoría.',
  carefulYou: 'También puede hacérselo a usted.',
  labelTaken: 'Ya existe un rol con este nombre. Elija otro nombre.',
  everything: 'hacer todo',
  newTitle: 'Añadir un rol',
  newText: 'Un rol de la tienda permite lo que permite otro rol, y algo más. Elija primero ese otro rol.',
  label: 'Nombre',
  code: 'Código',
  codeHint: 'De 2 a 32 letras minúsculas, cifras y guiones, por ejemplo turno-noche. No se puede cambiar después.',
  codeFormat: 'Use de 2 a 32 letras minúsculas, cifras y guiones, y empiece con una letra.',
  basedOn: 'Basado en',
  adds: 'También puede',
  create: 'Añadir el rol',
  editTitle: (label) => `Rol ${label}`,
  baseText: (base, may) => `Se basa en ${base}, que puede: ${may}.`,
  save: 'Guardar',
  nothingToAdd: 'Es todo lo que usted puede permitir, así que no hay nada que añadir.',
  deleteTitle: 'Eliminar el rol',
  deleteText: 'Solo se puede eliminar un rol que no tenga ningún miembro ni ninguna invitación.',
  delete: 'Eliminar el rol',
  permissions: permissions.es,
  navigation: { label: 'Roles', purpose: 'Qué puede hacer cada rol. Añada sus propios roles.' },
  notices: {
    'role-created': ({ role }) => `Se añadió el rol ${role}.`,
    'role-updated': ({ role }) => `Se guardó el rol ${role}.`,
    'role-deleted': ({ role }) => (role === '' ? 'Se eliminó el rol.' : `Se eliminó el rol ${role}.`),
  },
}

export const roles = { en, es }
