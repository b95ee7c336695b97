const en = {
  title: 'Set a new password',
  password: 'New password',
  hint: (count: number) => `At least ${count} characters. Several words are easy to remember.`,
  submit: 'Set the password',
  again: 'Ask for a new link',
}

const es: typeof en = {
  title: 'Ponga una contraseña nueva',
  password: 'Contraseña nueva',
  hint: (count) => `Al menos ${count} caracteres. Varias palabras son fáciles de recordar.`,
  submit: 'Guardar la contraseña',
  again: 'Pedir un enlace nuevo',
}

export const resetPassword = { en, es }
