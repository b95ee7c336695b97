import type { EmailMessage } from '#shared/mail/email-message.ts'
import type { Language } from '#shared/schema/language.ts'

/** What an email says, without its address. `label` is the text of its link. */
type Words = Pick<EmailMessage, 'subject' | 'paragraphs' | 'closing'> & { readonly label?: string }

// A mail program shows subject and first paragraph in its list. Those of an invitation name the shop and a verified address, and
// no text that a user chose: the platform signs the mail.
const en = {
  invitation: ({
    inviter,
    shop,
    role,
    until,
  }: {
    inviter: string | null
    shop: string
    role: string
    until: string
  }) => ({
    subject: inviter === null ? `You are invited to ${shop}` : `${inviter} invites you to ${shop}`,
    paragraphs: [
      `${inviter === null ? 'You are invited' : `${inviter} invites you`} to work in ${shop}.`,
      `Your role will be: ${role}. The invitation is open until ${until}.`,
    ],
    label: 'Accept the invitation',
    closing: 'If you did not expect this, ignore it: nothing happens without the link.',
  }),
  passwordReset: ({ until }: { until: string }) => ({
    subject: 'Set a new password',
    paragraphs: ['Somebody asked to set a new password for this address.', `The link works once, until ${until}.`],
    label: 'Set a new password',
    closing: 'If it was not you, ignore this: your password stays as it is.',
  }),
  emailVerification: ({ until }: { until: string }) => ({
    subject: 'Confirm your email address',
    paragraphs: ['Confirm that this is your address.', `The link works until ${until}.`],
    label: 'Confirm the address',
  }),
  passwordChanged: () => ({
    subject: 'Your password was changed',
    paragraphs: ['The password of your account was changed, and your other sessions were ended.'],
    label: 'If it was not you, set a new one',
  }),
  membershipAdded: ({ shop, role }: { shop: string; role: string }) => ({
    subject: `You were added to ${shop}`,
    paragraphs: [`You now work in ${shop}.`, `Your role is: ${role}.`],
    label: 'Sign in',
  }),
  membershipRemoved: ({ shop }: { shop: string }) => ({
    subject: `You were removed from ${shop}`,
    paragraphs: [`You no longer work in ${shop}, and your sessions there were ended.`],
  }),
} satisfies Readonly<Record<string, (facts: never) => Words>>

const es: { readonly [Kind in keyof typeof en]: (...facts: Parameters<(typeof en)[Kind]>) => Words } = {
  invitation: ({ inviter, shop, role, until }) => ({
    subject: inviter === null ? `Invitación a ${shop}` : `${inviter} te invita a ${shop}`,
    paragraphs: [
      inviter === null ? `Te invitan a trabajar en ${shop}.` : `${inviter} te invita a trabajar en ${shop}.`,
      `Tu rol será: ${role}. La invitación está abierta hasta el ${until}.`,
    ],
    label: 'Aceptar la invitación',
    closing: 'Si no esperabas este correo, ignóralo: sin el enlace no ocurre nada.',
  }),
  passwordReset: ({ until }) => ({
    subject: 'Crea una contraseña nueva',
    paragraphs: [
      'Alguien ha pedido una contraseña nueva para esta dirección.',
      `El enlace funciona una sola vez, hasta el ${until}.`,
    ],
    label: 'Crear una contraseña nueva',
    closing: 'Si no has sido tú, ignora este correo: tu contraseña no cambia.',
  }),
  emailVerification: ({ until }) => ({
    subject: 'Confirma tu dirección de correo',
    paragraphs: ['Confirma que esta dirección es tuya.', `El enlace funciona hasta el ${until}.`],
    label: 'Confirmar la dirección',
  }),
  passwordChanged: () => ({
    subject: 'Tu contraseña ha cambiado',
    paragraphs: ['La contraseña de tu cuenta ha cambiado y tus demás sesiones se han cerrado.'],
    label: 'Si no has sido tú, crea una nueva',
  }),
  membershipAdded: ({ shop, role }) => ({
    subject: `Ya formas parte de ${shop}`,
    paragraphs: [`Ahora trabajas en ${shop}.`, `Tu rol es: ${role}.`],
    label: 'Iniciar sesión',
  }),
  membershipRemoved: ({ shop }) => ({
    subject: `Ya no formas parte de ${shop}`,
    paragraphs: [`Ya no trabajas en ${shop} y tus sesiones allí se han cerrado.`],
  }),
}

/** The texts of the mails. One that is missing in a language does not compile. */
export const MAIL_TEXTS: Readonly<Record<Language, typeof es>> = { en, es }
