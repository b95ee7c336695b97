const en = {
  title: 'Sign in',
  email: 'Email address',
  password: 'Password',
  submit: 'Sign in',
  forgot: 'I forgot my password',
  noAccount: 'No account yet? Ask an owner or an admin of your shop to invite you.',
  refused: 'The email address or the password is not right.',
  notices: {
    'signed-out': 'You are signed out.',
    'sign-in-expired': 'That took too long. Enter your password again.',
    'session-ended': 'Your session has ended. Sign in again.',
  },
}

const es: typeof en = {
  title: 'Iniciar sesión',
  email: 'Correo electrónico',
  password: 'Contraseña',
  submit: 'Iniciar sesión',
  forgot: 'Olvidé mi contraseña',
  noAccount: '¿Todavía no tiene cuenta? Pida a un propietario o administrador de su tienda que le invite.',
  refused: 'El correo electrónico o la contraseña no son correctos.',
  notices: {
    'signed-out': 'Ha cerrado la sesión.',
    'sign-in-expired': 'Pasó demasiado tiempo. Introduzca de nuevo su contraseña.',
    'session-ended': 'Su sesión ha terminado. Inicie sesión de nuevo.',
  },
}

export const signIn = { en, es }
