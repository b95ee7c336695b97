import type { Texts } from '#web/texts/texts.ts'

export const signIn: Texts['signIn'] = {
  title: 'Iniciar sesión',
  email: 'Correo electrónico',
  password: 'Contraseña',
  submit: 'Iniciar sesión',
  forgot: 'Olvidé mi contraseña',
  refused: 'El correo electrónico o la contraseña no son correctos.',
}

export const forgotPassword: Texts['forgotPassword'] = {
  title: '¿Olvidó su contraseña?',
  intro: 'Escriba su correo electrónico. Si tiene una cuenta, le enviamos un enlace para poner una contraseña nueva.',
  email: 'Correo electrónico',
  submit: 'Enviar el enlace',
  back: 'Volver a iniciar sesión',
}

export const link: Texts['link'] = { invalid: 'Este enlace no es válido o ha caducado' }

export const resetPassword: Texts['resetPassword'] = {
  title: 'Ponga una contraseña nueva',
  password: 'Contraseña nueva',
  hint: (count) => `Al menos ${count} caracteres. Varias palabras son fáciles de recordar.`,
  submit: 'Guardar la contraseña',
  again: 'Pedir un enlace nuevo',
}

export const verifyEmail: Texts['verifyEmail'] = {
  title: 'Verifique su correo electrónico',
  intro: 'Confirme que recibió el mensaje.',
  submit: 'Verificar el correo',
  signInFirst: 'Inicie sesión para pedir un enlace nuevo.',
  again: (email) => `Podemos enviar un enlace nuevo a ${email}.`,
  resend: 'Enviar un enlace nuevo',
}

export const invitation: Texts['invitation'] = {
  title: (shop) => `Unirse a ${shop}`,
  shop: 'Tienda',
  role: 'Su rol',
  inviter: 'Le invita',
  email: 'Su correo electrónico',
  existing: 'Ya tiene una cuenta. Puede unirse con ella.',
  newcomer: 'Ponga su nombre y una contraseña para crear su cuenta.',
  name: 'Su nombre',
  password: 'Contraseña',
  join: 'Unirse a la tienda',
  create: 'Crear la cuenta y unirse',
  again: 'Pida una invitación nueva a la persona que le invitó.',
}
