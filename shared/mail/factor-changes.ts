import type { FactorChange } from '#shared/queue/kinds.ts'
import type { Language } from '#shared/schema/language.ts'

type ChangeTexts = Readonly<Record<FactorChange, readonly [subject: string, sentence: string, label?: string]>>

const en: ChangeTexts = {
  'app-added': [
    'An authenticator app was added',
    'An authenticator app was added. The password alone does not sign in any more. If it was not you, a new password does not remove it: ask an owner or an admin of your shop.',
  ],
  'app-replaced': [
    'Your authenticator app was replaced',
    'Another authenticator app was set up. Codes of the previous one no longer work.',
  ],
  'app-removed': [
    'Your authenticator app was removed',
    'The authenticator app was removed, and the other sessions were ended.',
  ],
  'passkey-added': [
    'A passkey was added',
    'A passkey was added, which signs in without the password. The password alone does not sign in any more. If it was not you, a new password does not remove it: ask an owner or an admin of your shop.',
  ],
  'passkey-removed': ['A passkey was removed', 'A passkey was removed, and the other sessions were ended.'],
  'counter-back': [
    'A passkey may have been copied',
    'A passkey was refused, because its counter went back: somebody may have copied it. Remove it on the page “Second step at sign-in” of your account.',
  ],
  'codes-renewed': ['You have new recovery codes', 'New recovery codes were made. The previous ones no longer work.'],
  'codes-voided': [
    'Your recovery codes no longer work',
    'The service has ended your recovery codes. Make new ones on the page “Second step at sign-in” of your account.',
  ],
  'code-used': ['A recovery code was used', 'One of the recovery codes was used. It does not work again.'],
  'few-codes': [
    'Few recovery codes are left',
    'One of the recovery codes was used, and three or fewer are left. Make new ones on the page “Second step at sign-in” of your account.',
  ],
  'wrong-codes': [
    'A stranger may know your password',
    'Somebody entered the password, and then only wrong codes. They did not get in.',
  ],
  'reset-cancelled': [
    'Your second step stays',
    'The request to remove the second step was cancelled. Nothing changed, and its links no longer work.',
  ],
  'reset-done': [
    'Your second step was removed',
    'The second step and the password were removed, as requested, and every session was ended. Another email has a link to set a new password.',
    'Ask for another link',
  ],
}

const es: ChangeTexts = {
  'app-added': [
    'Se añadió una aplicación de autenticación',
    'Se añadió una aplicación de autenticación. La contraseña sola ya no basta para entrar. Si no fue usted, una contraseña nueva no la quita: pida ayuda a un propietario o administrador de su tienda.',
  ],
  'app-replaced': [
    'Se sustituyó su aplicación de autenticación',
    'Se configuró otra aplicación de autenticación. Los códigos de la anterior ya no funcionan.',
  ],
  'app-removed': [
    'Se quitó su aplicación de autenticación',
    'La aplicación de autenticación se quitó y las demás sesiones se cerraron.',
  ],
  'passkey-added': [
    'Se añadió una llave de acceso',
    'Se añadió una llave de acceso, que permite entrar sin contraseña. La contraseña sola ya no basta para entrar. Si no fue usted, una contraseña nueva no la quita: pida ayuda a un propietario o administrador de su tienda.',
  ],
  'passkey-removed': ['Se quitó una llave de acceso', 'Se quitó una llave de acceso y las demás sesiones se cerraron.'],
  'counter-back': [
    'Puede que alguien haya copiado una llave de acceso',
    'Se rechazó una llave de acceso porque su contador retrocedió: puede que alguien la haya copiado. Quítela en la página «Segundo paso al iniciar sesión» de su cuenta.',
  ],
  'codes-renewed': [
    'Tiene códigos de recuperación nuevos',
    'Se crearon códigos de recuperación nuevos. Los anteriores ya no funcionan.',
  ],
  'codes-voided': [
    'Sus códigos de recuperación ya no funcionan',
    'El servicio ha anulado sus códigos de recuperación. Cree otros nuevos en la página «Segundo paso al iniciar sesión» de su cuenta.',
  ],
  'code-used': ['Se usó un código de recuperación', 'Se usó uno de los códigos de recuperación. No funciona otra vez.'],
  'few-codes': [
    'Quedan pocos códigos de recuperación',
    'Se usó uno de los códigos de recuperación y quedan tres o menos. Cree otros nuevos en la página «Segundo paso al iniciar sesión» de su cuenta.',
  ],
  'wrong-codes': [
    'Puede que un extraño conozca su contraseña',
    'Alguien introdujo la contraseña y después solo códigos incorrectos. No consiguió entrar.',
  ],
  'reset-cancelled': [
    'Su segundo paso se mantiene',
    'Se canceló la solicitud de quitar el segundo paso. No cambió nada y sus enlaces ya no funcionan.',
  ],
  'reset-done': [
    'Se quitó su segundo paso',
    'El segundo paso y la contraseña se quitaron, como se solicitó, y todas las sesiones se cerraron. Otro correo tiene un enlace para crear una contraseña nueva.',
    'Pedir otro enlace',
  ],
}

/** What the mail says that reports a change of a user's second factors. */
export const FACTOR_CHANGES: Readonly<Record<Language, ChangeTexts>> = { en, es }
