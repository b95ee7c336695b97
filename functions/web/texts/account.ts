const en = {
  title: 'Your account',
  name: 'Name',
  email: 'Email address',
  verified: 'Verified',
  unverified: 'Not verified',
  sessions: 'Where you are signed in',
  mails: 'Mails to you',
  mailLanguage: 'Language of the mails',
  mailLanguageHint: 'The language of these pages stands at the end of each page.',
  saveLanguage: 'Save the language',
  password: 'Change your password',
  passwordText: 'You stay signed in here. All your other sessions end.',
  current: 'Current password',
  new: 'New password',
  repeated: 'New password again',
  notRepeated: 'Enter the same new password twice.',
  change: 'Change the password',
  notices: {
    'mail-language-changed': 'The language of your mails was changed.',
    'password-changed': 'The password was changed. Your other sessions have ended.',
  },
}

const es: typeof en = {
  title: 'Su cuenta',
  name: 'Nombre',
  email: 'Correo electrónico',
  verified: 'Verificado',
  unverified: 'Sin verificar',
  sessions: 'Dónde ha iniciado sesión',
  mails: 'Correos para usted',
  mailLanguage: 'Idioma de los correos',
  mailLanguageHint: 'El idioma de estas páginas se elige al final de cada página.',
  saveLanguage: 'Guardar el idioma',
  password: 'Cambiar la contraseña',
  passwordText: 'Aquí sigue con la sesión iniciada. Todas sus demás sesiones terminan.',
  current: 'Contraseña actual',
  new: 'Contraseña nueva',
  repeated: 'Contraseña nueva otra vez',
  notRepeated: 'Escriba dos veces la misma contraseña nueva.',
  change: 'Cambiar la contraseña',
  notices: {
    'mail-language-changed': 'Se cambió el idioma de sus correos.',
    'password-changed': 'Se cambió la contraseña. Sus demás sesiones han terminado.',
  },
}

export const account = { en, es }
