import type { About } from '#web/texts/notice-text.ts'

const en = {
  title: 'Forgot your password?',
  intro: 'Enter your email address. If it has an account, we send a link to set a new password.',
  email: 'Email address',
  submit: 'Send the link',
  back: 'Back to sign in',
  wrong: 'Is the address wrong, or did no email come?',
  another: 'Enter it again',
  notices: {
    'reset-requested': ({ who }: About) =>
      `If ${who === '' ? 'the address' : who} has an account, an email with a link is on its way. Look in the spam folder, too.`,
  },
}

const es: typeof en = {
  title: '¿Olvidó su contraseña?',
  intro: 'Escriba su correo electrónico. Si tiene una cuenta, le enviamos un enlace para poner una contraseña nueva.',
  email: 'Correo electrónico',
  submit: 'Enviar el enlace',
  back: 'Volver a iniciar sesión',
  wrong: '¿La dirección no es correcta, o no llegó ningún mensaje?',
  another: 'Escríbala otra vez',
  notices: {
    'reset-requested': ({ who }) =>
      `Si ${who === '' ? 'el correo' : who} tiene una cuenta, un mensaje con un enlace está en camino. Mire también en el correo no deseado.`,
  },
}

export const forgotPassword = { en, es }
