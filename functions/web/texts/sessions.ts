const en = {
  title: 'Where you are signed in',
  caption: 'Your sessions',
  text: 'End a session that you do not know, and change your password.',
  device: 'Device',
  shop: 'Shop',
  none: 'No shop chosen',
  begun: 'Signed in',
  used: 'Last used',
  current: 'This session',
  end: 'End',
  endOthers: 'End all other sessions',
  back: 'Your account',
  otherDevice: 'Another program',
  otherOnSystem: (system: string) => `Another program on ${system}`,
  onSystem: (browser: string, system: string) => `${browser} on ${system}`,
  notices: {
    'other-session-ended': 'The session was ended.',
    'other-sessions-ended': 'Your other sessions were ended.',
  },
}

const es: typeof en = {
  title: 'Dónde ha iniciado sesión',
  caption: 'Sus sesiones',
  text: 'Termine una sesión que no conozca y cambie su contraseña.',
  device: 'Dispositivo',
  shop: 'Tienda',
  none: 'Ninguna tienda elegida',
  begun: 'Inicio de sesión',
  used: 'Último uso',
  current: 'Esta sesión',
  end: 'Terminar',
  endOthers: 'Terminar todas las demás sesiones',
  back: 'Su cuenta',
  otherDevice: 'Otro programa',
  otherOnSystem: (system) => `Otro programa en ${system}`,
  onSystem: (browser, system) => `${browser} en ${system}`,
  notices: {
    'other-session-ended': 'Se terminó la sesión.',
    'other-sessions-ended': 'Se terminaron sus demás sesiones.',
  },
}

export const sessions = { en, es }
