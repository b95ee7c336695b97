import type { Texts } from '#web/texts/texts.ts'

export const common: Texts['common'] = {
  skip: 'Ir al contenido',
  optional: '(opcional)',
  errorPrefix: 'Error:',
  errorSummary: 'Hay un problema',
  pages: 'Páginas de la lista',
  firstPage: 'Primera página',
  nextPage: 'Página siguiente',
  cancel: 'Cancelar',
  language: 'Idioma',
  signOut: 'Cerrar sesión',
  switchShop: 'Cambiar de tienda',
  shopPages: 'Páginas de la tienda',
  unknown: 'Desconocido',
  filter: 'Buscar',
}

export const navigation: Texts['navigation'] = {
  start: { label: 'Resumen', purpose: 'Su tienda y su rol.' },
  members: { label: 'Miembros', purpose: 'Quién trabaja en la tienda y con qué rol.' },
  invitations: { label: 'Invitaciones', purpose: 'Invite a personas y vea quién no ha aceptado todavía.' },
  roles: { label: 'Roles', purpose: 'Qué puede hacer cada rol. Añada sus propios roles.' },
  vendors: { label: 'Proveedores', purpose: 'Conecte proveedores y sincronice sus catálogos.' },
  settings: { label: 'Ajustes', purpose: 'Nombre, zona horaria y moneda de la tienda.' },
  auditLog: { label: 'Auditoría', purpose: 'Quién hizo qué, y cuándo.' },
}

export const notices: Texts['notices'] = {
  'signed-out': 'Ha cerrado la sesión.',
  'session-ended': 'Su sesión ha terminado. Inicie sesión de nuevo.',
  'shop-switched': 'Ha cambiado de tienda.',
  'sign-in-with-password': 'Puede iniciar sesión con su contraseña.',
  'email-verified': 'Su correo electrónico está verificado.',
  'reset-requested':
    'Si el correo tiene una cuenta, un mensaje con un enlace está en camino. Mire también en el correo no deseado.',
  'verification-sent': 'Un mensaje con un enlace nuevo está en camino.',
  'role-changed': 'Se cambió el rol. Vale desde el próximo clic.',
  'member-removed': 'Se quitó a la persona de la tienda.',
  'invitation-sent': 'La invitación está en camino.',
  'invitation-cancelled': 'Se canceló la invitación.',
  'role-created': 'Se añadió el rol.',
  'role-updated': 'Se guardó el rol.',
  'role-deleted': 'Se eliminó el rol.',
  'vendor-connected': 'El proveedor aceptó las credenciales. La cuenta está conectada.',
  'vendor-unverified': 'La cuenta está guardada. No se pudo contactar con el proveedor; la verificamos más tarde.',
  'vendor-secret-replaced': 'Se sustituyó el secreto.',
  'vendor-verified': 'El proveedor aceptó las credenciales.',
  'vendor-refused': 'El proveedor rechazó las credenciales. Sustituya el secreto.',
  'vendor-revoked': 'Se revocó la cuenta y se borró su secreto.',
  'sync-active': 'Ya hay una sincronización de este proveedor en curso. Así va.',
  'settings-saved': 'Se guardaron los ajustes.',
  'mail-language-changed': 'Se cambió el idioma de sus correos.',
  'password-changed': 'Se cambió la contraseña. Sus demás sesiones han terminado.',
  'other-session-ended': 'Se terminó la sesión.',
  'other-sessions-ended': 'Se terminaron sus demás sesiones.',
}

export const failures: Texts['failures'] = {
  invalid: { title: 'Esta solicitud no es válida', text: 'Vuelva atrás, recargue la página e inténtelo de nuevo.' },
  forbidden: {
    title: 'No puede hacer esto',
    text: 'Quizá su rol no lo permite, o la página estuvo abierta demasiado tiempo. Vuelva atrás, recargue la página e inténtelo de nuevo.',
  },
  notFound: { title: 'Página no encontrada', text: 'Revise la dirección o empiece por la página de inicio.' },
  method: { title: 'Esta dirección no acepta eso', text: 'Empiece por la página de inicio.' },
  tooLarge: { title: 'El formulario es demasiado grande', text: 'Vuelva atrás y escriba menos texto.' },
  mediaType: {
    title: 'Un navegador no envió este formulario',
    text: 'Vuelva atrás, recargue la página e inténtelo de nuevo.',
  },
  refused: { title: 'No se hizo', text: 'Vuelva atrás, recargue la página e inténtelo de nuevo.' },
  tooMany: { title: 'Demasiados intentos', text: (wait) => `Inténtelo de nuevo dentro de ${wait}.` },
  unavailable: {
    title: 'El servicio no está disponible',
    text: 'Su sesión sigue abierta. Espere unos segundos y recargue la página.',
  },
  internal: { title: 'Algo salió mal', text: 'Hemos registrado el fallo. Inténtelo más tarde.' },
  home: 'Ir a la página de inicio',
  reference: (id) => `Referencia para soporte: ${id}`,
}

export const refusals: Texts['refusals'] = {
  required: 'Escriba un valor.',
  invalid: 'Escriba un valor válido.',
  email: 'Escriba un correo electrónico, como nombre@example.com.',
  tooShort: (count) => `Escriba al menos ${count} caracteres.`,
  tooLong: (count) => `Escriba como máximo ${count} caracteres.`,
  noVisibleCharacter: 'Escriba al menos un carácter visible.',
  likeKnown: (count) =>
    `Escriba al menos ${count} caracteres además de su correo electrónico, su nombre o el nombre de su tienda.`,
  common: 'Mucha gente lo usa. Elija algo menos común.',
  guessable: 'Es demasiado fácil de adivinar. Elija algo más largo.',
  breached: 'Apareció en una filtración de datos. Elija otro.',
  personName: 'Escriba un nombre, sin direcciones web o de correo ni números largos.',
  oneLine: 'Escriba una línea de texto.',
}

export const problems: Texts['problems'] = {
  other: 'No se hizo. Recargue la página e inténtelo de nuevo.',
  'token-invalid': 'Este enlace no es válido o ha caducado.',
  'already-member': 'Esta persona ya es miembro de la tienda.',
  'role-exists': 'La tienda ya tiene un rol con este nombre.',
  'role-in-use': 'Hay miembros o invitaciones que usan este rol.',
  'role-limit': 'La tienda ya tiene el máximo de roles.',
  'last-owner': 'Una tienda necesita al menos un propietario.',
  'sync-active': 'Ya hay una sincronización en curso.',
  'vendor-rejected': 'El proveedor rechazó estas credenciales.',
  'currency-in-use': 'Hay precios en esta moneda, así que no se puede cambiar.',
  'rate-limited': (wait) => `Demasiados intentos. Inténtelo de nuevo dentro de ${wait}.`,
}
