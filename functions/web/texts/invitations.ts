const en = {
  title: 'Invitations',
  newTitle: 'Invite somebody',
  openTitle: 'Open invitations',
  caption: 'Open invitations',
  email: 'Email address',
  emailHint: 'We send a link to this address.',
  send: 'Send the invitation',
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
    'invitation-sent': 'The invitation is on its way.',
    'invitation-cancelled': 'The invitation was cancelled.',
  },
}

const es: typeof en = {
  title: 'Invitaciones',
  newTitle: 'Invitar a alguien',
  openTitle: 'Invitaciones abiertas',
  caption: 'Invitaciones abiertas',
  email: 'Correo electrónico',
  emailHint: 'Enviamos un enlace a esta dirección.',
  send: 'Enviar la invitación',
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
    'invitation-sent': 'La invitación está en camino.',
    'invitation-cancelled': 'Se canceló la invitación.',
  },
}

export const invitations = { en, es }
