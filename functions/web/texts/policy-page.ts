const en = {
  title: 'Second step at sign-in',
  text: 'Whoever is asked for a second step sets up an authenticator app or a passkey, and uses it after the password. A stolen password then opens nothing.',
  who: 'Who is asked for it',
  choices: {
    none: { label: 'Nobody', hint: 'People may still use it.' },
    managers: { label: 'Managers', hint: 'Whoever manages members, vendor accounts or the settings.' },
    everyone: { label: 'Everyone', hint: 'Every member, with any role.' },
  },
  days: 'From when',
  daysHint: 'From that day on, nobody who is asked works in the shop without it. A day that stands only moves earlier.',
  after: (days: number) => (days === 0 ? 'At once' : `In ${days} days`),
  from: { managers: 'Asked of managers from', everyone: 'Asked of everyone from' },
  without: 'Members without a second step',
  ownFirst: 'You have no second step yourself. Set it up first: otherwise you would lock yourself out.',
  notDone: 'Nothing was saved. Whoever asks others for a second step needs one first.',
  setUp: 'Set up your second step',
  save: 'Save',
}

const es: typeof en = {
  title: 'Segundo paso al iniciar sesión',
  text: 'A quien se le pide un segundo paso configura una aplicación de autenticación o una llave de acceso y la usa después de la contraseña. Así una contraseña robada no abre nada.',
  who: 'A quién se le pide',
  choices: {
    none: { label: 'A nadie', hint: 'Cada persona puede usarlo.' },
    managers: {
      label: 'A los administradores',
      hint: 'Quien administra miembros, cuentas de proveedores o los ajustes.',
    },
    everyone: { label: 'A todos', hint: 'A cada miembro, con cualquier rol.' },
  },
  days: 'Desde cuándo',
  daysHint:
    'Desde ese día, nadie a quien se le pide trabaja en la tienda sin él. Una fecha que ya está fijada solo se adelanta.',
  after: (days) => (days === 0 ? 'De inmediato' : `En ${days} días`),
  from: { managers: 'Se pide a los administradores desde', everyone: 'Se pide a todos desde' },
  without: 'Miembros sin segundo paso',
  ownFirst: 'Usted no tiene un segundo paso. Configúrelo primero: si no, perdería su propio acceso.',
  notDone: 'No se guardó nada. Quien pide a otros un segundo paso necesita primero el suyo.',
  setUp: 'Configurar su segundo paso',
  save: 'Guardar',
}

/** What the page of the second-factor policy says. */
export const policyPage = { en, es }
