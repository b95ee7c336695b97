const en = {
  invalid: 'This link is invalid or has expired',
  used: 'Each link works once, and only for some time.',
  missing: 'Open the link in the mail again',
  missingText:
    'Open the link in the mail again. This page was open for too long, or another link took its place. Your browser must accept cookies.',
  other: 'You are signed in as somebody else',
  otherText: (email: string, signedIn: string) => `This link is for ${email}. You are signed in as ${signedIn}.`,
  signOut: 'Sign out and continue',
  stay: 'Stay signed in',
}

const es: typeof en = {
  invalid: 'Este enlace no es válido o ha caducado',
  used: 'Cada enlace sirve una sola vez y solo durante un tiempo.',
  missing: 'Abra de nuevo el enlace del correo',
  missingText:
    'Abra de nuevo el enlace del correo. Esta página estuvo abierta demasiado tiempo o la sustituyó otro enlace. Su navegador debe aceptar cookies.',
  other: 'Ha iniciado sesión otra persona',
  otherText: (email, signedIn) => `Este enlace es para ${email}. La sesión abierta es de ${signedIn}.`,
  signOut: 'Cerrar sesión y continuar',
  stay: 'Seguir con la sesión abierta',
}

export const link = { en, es }
