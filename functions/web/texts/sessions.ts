const en = {
  notices: {
    'other-session-ended': 'The session was ended.',
    'other-sessions-ended': 'Your other sessions were ended.',
  },
}

const es: typeof en = {
  notices: {
    'other-session-ended': 'Se terminó la sesión.',
    'other-sessions-ended': 'Se terminaron sus demás sesiones.',
  },
}

/** What the notices say of sessions. */
export const sessions = { en, es }
