import type { About } from '#web/texts/notice-text.ts'

const en = {
  title: 'Invitations',
  newTitle: 'Invite people',
  openTitle: 'Open invitations',
  caption: 'Open invitations',
  email: 'Email address',
  emails: 'Email addresses',
  emailsHint:
    'Up to 20, separated by commas, semicolons or lines. You can paste Ann <ann@example.com>. We send a link to each.',
  tooMany: (count: number, most: number) => `These are ${count} addresses. Invite at most ${most} at a time.`,
  before: (email: string, role: string) => `${email} (before: ${role})`,
  people: (count: number) => `${count} people`,
  language: 'Language of the mail',
  languageHint: 'Somebody who has an account gets it in their own language.',
  send: 'Send invitations',
  expires: 'Expires',
  resend: 'Send again',
  cancel: 'Cancel',
  bounced: 'Could not be delivered',
  bouncedText:
    'This address did not accept our mail. Check the spelling. Cancel this invitation, and invite the right address.',
  noneTitle: 'No open invitations',
  none: 'Invite somebody with the form above. They appear here until they accept.',
  states: { pending: 'Sent', expired: 'Expired', cancelled: 'Cancelled' },
  navigation: { label: 'Invitations', purpose: 'Invite people, and see who has not accepted yet.' },
  notices: {
    'invitation-sent': ({ who, role }: About) => `The invitation of ${who} as ${role} is on its way.`,
    'invitation-cancelled': ({ who }: About) =>
      who === '' ? 'The invitation was cancelled.' : `The invitation of ${who} was cancelled.`,
  },
}

const es: typeof en = {
  title: 'Invitaciones',
  newTitle: 'Invitar a personas',
  openTitle: 'Invitaciones abiertas',
  caption: 'Invitaciones abiertas',
  email: 'Correo electrónico',
  emails: 'Correos electrónicos',
  emailsHint:
    'Hasta 20, separados por comas, puntos y comas o líneas. Puede pegar Ana <ana@example.com>. Enviamos un enlace a cada uno.',
  tooMany: (count, most) => `Son ${count} direcciones. Invite como máximo a ${most} a la vez.`,
  before: (email, role) => `${email} (antes: ${role})`,
  people: (count) => `${count} personas`,
  language: 'Idioma del correo',
  languageHint: 'Quien ya tiene una cuenta lo recibe en su propio idioma.',
  send: 'Enviar invitaciones',
  expires: 'Caduca',
  resend: 'Enviar de nuevo',
  cancel: 'Cancelar',
  bounced: 'No se pudo entregar',
  bouncedText:
    'Esta dirección no aceptó nuestro correo. Revise si está bien escrita. Cancele esta invitación e invite a la dirección correcta.',
  noneTitle: 'No hay invitaciones abiertas',
  none: 'Invite a alguien con el formulario de arriba. Aparecerá aquí hasta que acepte.',
  states: { pending: 'Enviada', expired: 'Caducada', cancelled: 'Cancelada' },
  navigation: { label: 'Invitaciones', purpose: 'Invite a personas y vea quién no ha aceptado todavía.' },
  notices: {
    'invitation-sent': ({ who, role }) => `La invitación de ${who} con el rol ${role} está en camino.`,
    'invitation-cancelled': ({ who }) =>
      who === '' ? 'Se canceló la invitación.' : `Se canceló la invitación de ${who}.`,
  },
}

export const invitations = { en, es }
