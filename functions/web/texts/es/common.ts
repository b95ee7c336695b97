import type * as en from '#web/texts/en/common.ts'

export const common: typeof en.common = {
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

export const failures: typeof en.failures = {
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

export const refusals: typeof en.refusals = {
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

export const problems: typeof en.problems = {
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
