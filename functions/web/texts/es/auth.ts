import type { Texts } from '#web/texts/texts.ts'

export const signIn: Texts['signIn'] = {
  title: 'Iniciar sesión',
  email: 'Correo electrónico',
  password: 'Contraseña',
  submit: 'Iniciar sesión',
  forgot: 'Olvidé mi contraseña',
  refused: 'El correo electrónico o la contraseña no son correctos.',
}
