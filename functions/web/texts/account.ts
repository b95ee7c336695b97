const en = {
  title: 'Your account',
  name: 'Name',
  email: 'Email address',
  verified: 'Verified',
  unverified: 'Not verified',
  sessions: 'Where you are signed in',
  language: 'Language',
  languageHint: 'Of these pages, and of our emails to you.',
  saveLanguage: 'Save the language',
  password: 'Change your password',
  passwordText: 'You stay signed in here. All your other sessions end.',
  current: 'Current password',
  new: 'New password',
  repeated: 'New password again',
  notRepeated: 'Enter the same new password twice.',
  change: 'Change the password',
  notices: {
    'language-changed': 'Your language was changed.',
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
  language: 'Idioma',
  languageHint: 'De estas páginas y de nuestros correos para usted.',
  saveLanguage: 'Guardar el idioma',
  password: 'Cambiar la contraseña',
  passwordText: 'Aquí sigue con la sesión iniciada. Todas sus demás sesiones terminan.',
  current: 'Contraseña actual',
  new: 'Contraseña nueva',
  repeated: 'Contraseña nueva otra vez',
  notRepeated: 'Escriba dos veces la misma contraseña nueva.',
  change: 'Cambiar la contraseña',
  notices: {
    'language-changed': 'Se cambió su idioma.',
    'password-changed': 'Se cambió la contraseña. Sus demás sesiones han terminado.',
  },
}

export const account = { en, es }
