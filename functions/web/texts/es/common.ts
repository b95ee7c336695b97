import type * as en from '#web/texts/en/common.ts'

export const common: typeof en.common = {
  skip: 'Ir al contenido',
  optional: '(opcional)',
  errorPrefix: 'Error:',
  errorSummary: 'Hay un problema',
  pages: 'Páginas de la lista',
  firstPage: 'Primera página',
  previousPage: 'Página anterior',
  nextPage: 'Página siguiente',
  show: 'Mostrar',
  hide: 'Ocultar',
  working: 'Trabajando…',
  cancel: 'Cancelar',
  back: 'Volver',
  account: 'Cuenta',
  support: 'Ayuda',
  privacy: 'Privacidad',
  accessibility: 'Accesibilidad',
  language: 'Idioma',
  signOut: 'Cerrar sesión',
  switchShop: 'Cambiar de tienda',
  shopPages: 'Páginas de la tienda',
  unknown: 'Desconocido',
  filter: 'Mostrar',
}

export const failures: typeof en.failures = {
  invalid: { title: 'Esta solicitud no es válida', text: 'Vuelva atrás, recargue la página e inténtelo de nuevo.' },
  forbidden: {
    title: 'No puede hacer esto',
    text: 'Su rol no lo permite. Pregunte a un propietario o administrador de su tienda.',
  },
  foreign: {
    title: 'Esto no se envió desde nuestra página',
    text: 'No se hizo nada. Abra la página de nuevo y envíelo desde ella.',
  },
  noCookies:
    'Esta página estuvo abierta demasiado tiempo, o su navegador no guarda cookies de este sitio. No se hizo nada. Permita las cookies y envíela de nuevo.',
  noCookiesOverHttp: 'Safari no guarda ninguna con http: en este equipo, use otro navegador.',
  openTooLong: 'Esta página estuvo abierta demasiado tiempo. No se hizo nada. Envíela de nuevo.',
  otherPerson: (email) => `Ahora la sesión es de ${email}. Otra persona rellenó este formulario. No se hizo nada.`,
  notDone: 'Esto no se ha hecho todavía. Revíselo y envíelo de nuevo.',
  notKept: 'Esto no se hizo y era demasiado largo para conservarlo. Escríbalo de nuevo.',
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

const required = 'Rellene este campo.'
const invalid = 'Escriba un valor válido.'

export const fieldErrors: typeof en.fieldErrors = {
  required,
  empty: required,
  invalid,
  'unknown-field': invalid,
  repeated: invalid,
  'wrong-type': invalid,
  'wrong-format': invalid,
  'not-a-choice': 'Elija una opción de la lista.',
  'too-long': ({ max }) => `Escriba como máximo ${max} caracteres.`,
  'too-short': ({ min }) => `Escriba al menos ${min} caracteres.`,
  'too-many': ({ max }) => `Elija como máximo ${max}.`,
  'too-small': ({ min }) => `Escriba ${min} o más.`,
  'too-large': ({ max }) => `Escriba ${max} o menos.`,
  'out-of-range': ({ min, max }) => `Escriba un número de ${min} a ${max}.`,
  'not-storable': 'Algunos de estos caracteres no se pueden guardar. Quítelos.',
  'forbidden-character': 'Algunos de estos caracteres no se admiten aquí. Quítelos.',
  'not-one-line': 'Escriba una línea de texto.',
  'not-an-email-address': 'Escriba un correo electrónico, como nombre@example.com.',
  'at-sign': 'Un nombre no lleva @. Quítela.',
  slash: 'Quite la barra. Un nombre solo la lleva entre dos letras sueltas, como en s/o.',
  'web-address':
    'Un nombre no lleva puntos ni dos puntos dentro de una palabra, como una dirección web. Ponga un espacio detrás.',
  'long-number': 'Un nombre no lleva números largos. Use seis cifras como máximo.',
  'not-a-file-name': 'Escriba el nombre de un archivo, sin barras.',
  'no-letter': 'Escriba al menos una letra.',
  unknown: 'Esto no existe. Elija otra opción.',
  nonexistent: 'Esto ya no existe. Elija otra opción.',
  duplicate: 'Esto aparece dos veces.',
  'no-price': 'Esto no tiene precio. Escriba uno.',
  'total-too-large': 'El total es demasiado grande.',
  'settings-too-large': invalid,
  'invalid-cursor': invalid,
  'wrong-password': 'Esta no es su contraseña actual.',
  'wrong-code':
    'Ese código es incorrecto o ya se usó. Espere al siguiente y deje que su teléfono ajuste la hora automáticamente.',
  'refused-by-vendor': 'El proveedor no aceptó este número de cuenta y esta clave. Compruebe ambos.',
  'no-visible-character': 'Escriba al menos un carácter visible.',
  'like-known': ({ min }) =>
    `Escriba al menos ${min} caracteres además de su correo electrónico, su nombre o el nombre de su tienda.`,
  common: 'Mucha gente lo usa. Elija algo menos común.',
  guessable: 'Es demasiado fácil de adivinar. Elija algo más largo.',
  breached: 'Apareció en una filtración de datos. Elija otro.',
}

export const problems: typeof en.problems = {
  other: 'No se hizo. Recargue la página e inténtelo de nuevo.',
  'malformed-json': 'No se hizo. Recargue la página e inténtelo de nuevo.',
  'token-invalid': 'Este enlace no es válido o ha caducado.',
  'already-member': 'Esta persona ya es miembro de la tienda.',
  'invitations-stopped':
    'Demasiadas invitaciones de la tienda se devolvieron o se marcaron como correo no deseado, así que por ahora no se puede invitar a nadie. Revise las direcciones y escriba a nuestro servicio de asistencia.',
  'role-exists': 'La tienda ya tiene un rol con este código.',
  'role-in-use': 'Hay miembros o invitaciones que usan este rol.',
  'role-limit': 'La tienda ya tiene el máximo de roles.',
  'last-factor': 'Una de sus tiendas pide un segundo paso. Añada otro antes de quitar este.',
  'sign-in-expired': 'Pasó demasiado tiempo. Introduzca de nuevo su contraseña.',
  'draft-expired': 'Esta página estuvo abierta demasiado tiempo. Empiece de nuevo.',
  'last-owner': 'Una tienda necesita al menos un propietario. Nombre antes a otra persona.',
  'vendor-unreachable': 'El proveedor no respondió. Inténtelo más tarde.',
  'sync-active': 'Ya hay una sincronización en curso.',
  'currency-in-use': 'Hay precios en esta moneda, así que no se puede cambiar.',
  'deal-locked': 'El pedido ya no se puede cambiar.',
  'precondition-failed':
    'Otra persona lo guardó mientras su página estaba abierta. Junto a cada campo distinto figura lo que guardó. Envíelo de nuevo para sustituirlo.',
  'rate-limited': (wait) => `Demasiados intentos. Inténtelo de nuevo dentro de ${wait}.`,
}
