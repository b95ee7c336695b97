const en = {
  title: 'Forgot your password?',
  intro: 'Enter your email address. If it has an account, we send a link to set a new password.',
  email: 'Email address',
  submit: 'Send the link',
  back: 'Back to sign in',
  notices: {
    'reset-requested': 'If the address has an account, a mail with a link is on its way. Look in the spam folder, too.',
  },
}

const es: typeof en = {
  title: '¿Olvidó su contraseña?',
  intro: 'Escriba su correo electrónico. Si tiene una cuenta, le enviamos un enlace para poner una contraseña nueva.',
  email: 'Correo electrónico',
  submit: 'Enviar el enlace',
  back: 'Volver a iniciar sesión',
  notices: {
    'reset-requested':
      'Si el correo tiene una cuenta, un mensaje con un enlace está en camino. Mire también en el correo no deseado.',
  },
}

export const forgotPassword = { en, es }
