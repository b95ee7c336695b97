// The texts of every mail in both languages. It has more than 300 lines, because a mail has one place.
import type { EmailMessage } from '#shared/mail/email-message.ts'
import { FACTOR_CHANGES } from '#shared/mail/factor-changes.ts'
import type { FactorChange, KeyReason } from '#shared/queue/kinds.ts'
import type { Language } from '#shared/schema/language.ts'

/** What an email says, without its address. `label` is the text of its link. */
export type Words = Pick<EmailMessage, 'subject' | 'paragraphs' | 'closing'> & { readonly label?: string }

interface Account {
  /** The address of the account, as people read it. */
  readonly account: string
  readonly platform: string
}

/** How long a link works: "1 hour", and until when. */
interface Open {
  readonly during: string
  readonly until: string
}

interface Facts {
  readonly invitation: Account &
    Open & { readonly inviter: string | null; readonly shop: string; readonly role: string }
  readonly passwordReset: Account & Open
  readonly emailVerification: Account & Open
  readonly passwordChanged: Account & { readonly at: string; readonly by: string | null }
  readonly secondFactor: Account & { readonly change: FactorChange; readonly at: string }
  readonly secondFactorSetup: Account & { readonly code: string }
  readonly apiKey: Account & {
    readonly reason: KeyReason
    readonly shop: string
    readonly name: string
    readonly may: string
    readonly maker: string
    readonly until: string
  }
  readonly secondFactorRequired: Account & { readonly shop: string; readonly from: string; readonly asksNow: boolean }
  readonly secondFactorReset: Account & { readonly at: string | null }
  readonly newSignIn: Account & { readonly at: string; readonly by: string | null }
  readonly membershipAdded: Account & { readonly shop: string; readonly role: string }
  readonly roleChanged: Account & { readonly shop: string; readonly role: string; readonly at: string }
  readonly invitationAccepted: Account & { readonly shop: string; readonly role: string; readonly member: string }
  readonly memberLeft: Account & {
    readonly shop: string
    readonly role: string
    readonly member: string
    readonly at: string
  }
  readonly membershipRemoved: Account & { readonly shop: string; readonly at: string }
}

type MailTexts = { readonly [Kind in keyof Facts]: (facts: Facts[Kind]) => Words }

// A mail program shows subject and first paragraph in its list. Those of an invitation name the shop and a verified address, and
// no text that a user chose: the platform signs the mail.
const en: MailTexts = {
  invitation: ({ inviter, shop, role, platform, account, during, until }) => ({
    subject: inviter === null ? `You are invited to ${shop}` : `${inviter} invites you to ${shop}`,
    paragraphs: [
      `${inviter === null ? 'You are invited' : `${inviter} invites you`} to work in ${shop}.`,
      `The shop works with ${platform}. Your role will be: ${role}. The invitation is for ${account}.`,
      `It is open for ${during}, until ${until}.`,
    ],
    label: 'Accept the invitation',
    closing: 'If you did not expect this, ignore it: nothing happens without the link.',
  }),
  passwordReset: ({ account, platform, during, until }) => ({
    subject: 'Set a new password',
    paragraphs: [
      `Somebody asked to set a new password for the account ${account} of ${platform}.`,
      `The link works once, within ${during}, until ${until}.`,
    ],
    label: 'Set a new password',
    closing: 'If it was not you, ignore this: your password stays as it is.',
  }),
  emailVerification: ({ account, platform, during, until }) => ({
    subject: 'Confirm your email address',
    paragraphs: [
      `Confirm that ${account} is your address. You sign in to ${platform} with it.`,
      `The link works for ${during}, until ${until}.`,
    ],
    label: 'Confirm the address',
    closing: 'If you have no such account, ignore this.',
  }),
  passwordChanged: ({ account, platform, at, by }) => ({
    subject: 'Your password was changed',
    paragraphs: [
      `The password of the account ${account} of ${platform} was changed on ${at}${by === null ? '' : `, with ${by}`}.`,
      'All other sessions of the account have ended.',
      'If it was you, you need to do nothing. If it was not you, set a new password now:',
    ],
    label: 'Set a new password',
  }),
  secondFactor: ({ account, platform, change, at }) => ({
    subject: FACTOR_CHANGES.en[change][0],
    paragraphs: [FACTOR_CHANGES.en[change][1], `It happened in the account ${account} of ${platform} on ${at}.`],
    label: FACTOR_CHANGES.en[change][2] ?? 'If it was not you, set a new password',
  }),
  secondFactorSetup: ({ account, platform, code }) => ({
    subject: 'Your setup code',
    paragraphs: [
      `Enter this code to finish setting up the second step of the account ${account} of ${platform}.`,
      code,
      'It works once, for 10 minutes.',
    ],
    closing: 'If it was not you, somebody knows your password: set a new one.',
  }),
  apiKey: ({ reason, shop, name, may, maker, until }) =>
    reason === 'created'
      ? {
          subject: `New API key of ${shop}: ${name}`,
          paragraphs: [
            `${maker} created the API key ${name} of ${shop}. A program that has it may: ${may}.`,
            `It expires on ${until}.`,
          ],
          label: 'See the API keys',
          closing: 'If you do not know what it is for, ask who created it, or revoke it.',
        }
      : {
          subject: `An API key of ${shop} expires: ${name}`,
          paragraphs: [
            `The API key ${name} of ${shop} expires on ${until}. From then on, the program that uses it is refused.`,
            'Give it a new secret with a later expiry, and set the program up with it.',
          ],
          label: 'See the API keys',
        },
  secondFactorRequired: ({ account, platform, shop, from, asksNow }) => ({
    subject: `${shop} asks you for a second step`,
    paragraphs: [
      `${asksNow ? 'Since' : 'From'} ${from}, ${shop} asks for a second step after the password: a code from an app on your phone, or a passkey.`,
      `The account ${account} of ${platform} has none yet. ${asksNow ? 'You can work in the shop again as soon as you have set it up.' : 'Set it up before then, or you cannot work in the shop until you have.'} It takes a few minutes.`,
    ],
    label: 'Set up the second step',
    closing: 'Your account and your other shops stay as they are.',
  }),
  secondFactorReset: ({ account, platform, at }) => ({
    subject: 'Somebody asked to remove your second step',
    paragraphs: [
      `Somebody says that you lost your phone and your recovery codes. They asked to remove the second step and the password of the account ${account} of ${platform}.`,
      at === null
        ? `The people who run ${platform} must confirm it first. You then get another email, with the time.`
        : `It happens on ${at}, unless it is cancelled. You then get a link to set a new password.`,
      'If you asked for it, you need to do nothing. If you did not, cancel it:',
    ],
    label: 'Keep my second step',
    closing: 'Signing in with your second step cancels it too.',
  }),
  newSignIn: ({ account, platform, at, by }) => ({
    subject: 'New sign-in to your account',
    paragraphs: [
      `Somebody signed in to the account ${account} of ${platform} on ${at}${by === null ? '' : `, with ${by}`}, from a network that you have not used in the last 30 days.`,
      'If it was you, you need to do nothing. If it was not you, set a new password now. That ends every session of the account:',
    ],
    label: 'Set a new password',
  }),
  membershipAdded: ({ account, platform, shop, role }) => ({
    subject: `You were added to ${shop}`,
    paragraphs: [`You now work in ${shop}, with the account ${account} of ${platform}.`, `Your role is: ${role}.`],
    label: `Open ${platform}`,
  }),
  roleChanged: ({ account, platform, shop, role, at }) => ({
    subject: `Your role in ${shop} was changed`,
    paragraphs: [
      `Since ${at}, the role of the account ${account} of ${platform} in ${shop} is: ${role}.`,
      'You need to do nothing. The first page of the shop says what the role permits.',
    ],
    label: `Open ${platform}`,
    closing: 'If you think that this is a mistake, ask an owner or an admin of the shop.',
  }),
  invitationAccepted: ({ platform, shop, role, member }) => ({
    subject: `${member} joined ${shop}`,
    paragraphs: [
      `${member} accepted your invitation, and now works in ${shop} of ${platform}. The role is: ${role}.`,
      'You need to do nothing. If you do not know this address, remove the person from the shop:',
    ],
    label: 'Open the members',
  }),
  memberLeft: ({ platform, shop, role, member, at }) => ({
    subject: `${member} left ${shop}`,
    paragraphs: [
      `Since ${at}, ${member} no longer works in ${shop} of ${platform}. The role was: ${role}.`,
      'Their sessions in the shop have ended. You need to do nothing.',
    ],
    label: 'Open the members',
    closing: 'You get this email because you are an owner of the shop.',
  }),
  membershipRemoved: ({ account, platform, shop, at }) => ({
    subject: `You were removed from ${shop}`,
    paragraphs: [
      `Since ${at}, the account ${account} no longer works in ${shop}. Its sessions there have ended.`,
      `Your account of ${platform} and your other shops stay as they are.`,
    ],
    closing: 'If you think that this is a mistake, ask an owner or an admin of the shop.',
  }),
}

const es: MailTexts = {
  invitation: ({ inviter, shop, role, platform, account, during, until }) => ({
    subject: inviter === null ? `Invitación a ${shop}` : `${inviter} le invita a ${shop}`,
    paragraphs: [
      inviter === null ? `Le invitan a trabajar en ${shop}.` : `${inviter} le invita a trabajar en ${shop}.`,
      `La tienda trabaja con ${platform}. Su rol será: ${role}. La invitación es para ${account}.`,
      `Está abierta durante ${during}, hasta el ${until}.`,
    ],
    label: 'Aceptar la invitación',
    closing: 'Si no esperaba este correo, ignórelo: sin el enlace no ocurre nada.',
  }),
  passwordReset: ({ account, platform, during, until }) => ({
    subject: 'Cree una contraseña nueva',
    paragraphs: [
      `Alguien solicitó una contraseña nueva para la cuenta ${account} de ${platform}.`,
      `El enlace funciona una sola vez, durante ${during}, hasta el ${until}.`,
    ],
    label: 'Crear una contraseña nueva',
    closing: 'Si no fue usted, ignore este correo: su contraseña no cambia.',
  }),
  emailVerification: ({ account, platform, during, until }) => ({
    subject: 'Confirme su dirección de correo',
    paragraphs: [
      `Confirme que ${account} es su dirección. Con ella inicia sesión en ${platform}.`,
      `El enlace funciona durante ${during}, hasta el ${until}.`,
    ],
    label: 'Confirmar la dirección',
    closing: 'Si no tiene esa cuenta, ignore este correo.',
  }),
  passwordChanged: ({ account, platform, at, by }) => ({
    subject: 'Su contraseña ha cambiado',
    paragraphs: [
      `La contraseña de la cuenta ${account} de ${platform} se cambió el ${at}${by === null ? '' : `, con ${by}`}.`,
      'Todas las demás sesiones de la cuenta se han cerrado.',
      'Si fue usted, no tiene que hacer nada. Si no fue usted, cree ahora una contraseña nueva:',
    ],
    label: 'Crear una contraseña nueva',
  }),
  secondFactor: ({ account, platform, change, at }) => ({
    subject: FACTOR_CHANGES.es[change][0],
    paragraphs: [FACTOR_CHANGES.es[change][1], `Ocurrió en la cuenta ${account} de ${platform} el ${at}.`],
    label: FACTOR_CHANGES.es[change][2] ?? 'Si no fue usted, cree una contraseña nueva',
  }),
  secondFactorSetup: ({ account, platform, code }) => ({
    subject: 'Su código de configuración',
    paragraphs: [
      `Introduzca este código para terminar de configurar el segundo paso de la cuenta ${account} de ${platform}.`,
      code,
      'Funciona una sola vez, durante 10 minutos.',
    ],
    closing: 'Si no fue usted, alguien conoce su contraseña: cree una nueva.',
  }),
  apiKey: ({ reason, shop, name, may, maker, until }) =>
    reason === 'created'
      ? {
          subject: `Nueva clave de API de ${shop}: ${name}`,
          paragraphs: [
            `${maker} creó la clave de API ${name} de ${shop}. Un programa que la tenga puede: ${may}.`,
            `Caduca el ${until}.`,
          ],
          label: 'Ver las claves de API',
          closing: 'Si no sabe para qué es, pregunte a quien la creó o revóquela.',
        }
      : {
          subject: `Una clave de API de ${shop} caduca: ${name}`,
          paragraphs: [
            `La clave de API ${name} de ${shop} caduca el ${until}. Desde entonces se rechaza al programa que la usa.`,
            'Dele un nuevo secreto con una caducidad posterior y configure el programa con él.',
          ],
          label: 'Ver las claves de API',
        },
  secondFactorRequired: ({ account, platform, shop, from, asksNow }) => ({
    subject: `${shop} le pide un segundo paso`,
    paragraphs: [
      `${asksNow ? 'Desde el' : 'A partir del'} ${from}, ${shop} pide un segundo paso después de la contraseña: un código de una aplicación de su teléfono o una llave de acceso.`,
      `La cuenta ${account} de ${platform} aún no lo tiene. ${asksNow ? 'Podrá volver a trabajar en la tienda en cuanto lo configure.' : 'Configúrelo antes de esa fecha; si no, no podrá trabajar en la tienda hasta que lo haga.'} Solo lleva unos minutos.`,
    ],
    label: 'Configurar el segundo paso',
    closing: 'Su cuenta y sus demás tiendas siguen como están.',
  }),
  secondFactorReset: ({ account, platform, at }) => ({
    subject: 'Alguien pidió quitar su segundo paso',
    paragraphs: [
      `Alguien dice que usted perdió su teléfono y sus códigos de recuperación. Pidió quitar el segundo paso y la contraseña de la cuenta ${account} de ${platform}.`,
      at === null
        ? `Quienes administran ${platform} deben confirmarlo antes. Entonces recibirá otro correo con la hora.`
        : `Ocurrirá el ${at}, salvo que se cancele. Entonces recibirá un enlace para crear una contraseña nueva.`,
      'Si usted lo pidió, no tiene que hacer nada. Si no lo pidió, cancélelo:',
    ],
    label: 'Conservar mi segundo paso',
    closing: 'Iniciar sesión con su segundo paso también lo cancela.',
  }),
  newSignIn: ({ account, platform, at, by }) => ({
    subject: 'Nuevo inicio de sesión en su cuenta',
    paragraphs: [
      `Alguien inició sesión en la cuenta ${account} de ${platform} el ${at}${by === null ? '' : `, con ${by}`}, desde una red que usted no ha usado en los últimos 30 días.`,
      'Si fue usted, no tiene que hacer nada. Si no fue usted, cree ahora una contraseña nueva. Así se cierran todas las sesiones de la cuenta:',
    ],
    label: 'Crear una contraseña nueva',
  }),
  membershipAdded: ({ account, platform, shop, role }) => ({
    subject: `Ya forma parte de ${shop}`,
    paragraphs: [`Ahora trabaja en ${shop}, con la cuenta ${account} de ${platform}.`, `Su rol es: ${role}.`],
    label: `Abrir ${platform}`,
  }),
  roleChanged: ({ account, platform, shop, role, at }) => ({
    subject: `Su rol en ${shop} ha cambiado`,
    paragraphs: [
      `Desde el ${at}, el rol de la cuenta ${account} de ${platform} en ${shop} es: ${role}.`,
      'No tiene que hacer nada. La primera página de la tienda dice lo que permite el rol.',
    ],
    label: `Abrir ${platform}`,
    closing: 'Si cree que es un error, pregunte a un propietario o administrador de la tienda.',
  }),
  invitationAccepted: ({ platform, shop, role, member }) => ({
    subject: `${member} se unió a ${shop}`,
    paragraphs: [
      `${member} aceptó su invitación y ahora trabaja en ${shop} de ${platform}. El rol es: ${role}.`,
      'No tiene que hacer nada. Si no conoce esta dirección, quite a la persona de la tienda:',
    ],
    label: 'Abrir los miembros',
  }),
  memberLeft: ({ platform, shop, role, member, at }) => ({
    subject: `${member} dejó ${shop}`,
    paragraphs: [
      `Desde el ${at}, ${member} ya no trabaja en ${shop} de ${platform}. Su rol era: ${role}.`,
      'Sus sesiones en la tienda se han cerrado. Usted no tiene que hacer nada.',
    ],
    label: 'Abrir los miembros',
    closing: 'Recibe este correo porque tiene el rol de propietario en la tienda.',
  }),
  membershipRemoved: ({ account, platform, shop, at }) => ({
    subject: `Ya no forma parte de ${shop}`,
    paragraphs: [
      `Desde el ${at}, la cuenta ${account} ya no trabaja en ${shop}. Sus sesiones allí se han cerrado.`,
      `Su cuenta de ${platform} y sus demás tiendas siguen como están.`,
    ],
    closing: 'Si cree que es un error, pregunte a un propietario o administrador de la tienda.',
  }),
}

/** The texts of the mails. One that is missing in a language does not compile. */
export const MAIL_TEXTS: Readonly<Record<Language, MailTexts>> = { en, es }
