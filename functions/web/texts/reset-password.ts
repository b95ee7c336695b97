const en = {
  title: (email: string) => `New password for ${email}`,
  password: 'New password',
  hint: (count: number) => `At least ${count} characters. Several words are easy to remember.`,
  submit: 'Set the password',
  again: 'Ask for a new link',
  used: 'If you have set a new password with it, sign in with that password.',
  notices: {
    'password-set': 'Your new password is set.',
    'reset-link-used':
      'This link was used before, so nothing was changed. Sign in with the password that you set then.',
  },
}

const es: typeof en = {
  title: (email) => `Contraseña nueva para ${email}`,
  password: 'Contraseña nueva',
  hint: (count) => `Al menos ${count} caracteres. Varias palabras son fáciles de recordar.`,
  submit: 'Guardar la contraseña',
  again: 'Pedir un enlace nuevo',
  used: 'Si ya puso con él una contraseña nueva, inicie sesión con ella.',
  notices: {
    'password-set': 'Su contraseña nueva está guardada.',
    'reset-link-used':
      'Este enlace ya se había usado, así que no se cambió nada. Inicie sesión con la contraseña que puso entonces.',
  },
}

export const resetPassword = { en, es }
