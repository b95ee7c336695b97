const en = {
  title: (email: string) => `Verify ${email}`,
  intro: 'Confirm that our email reached you.',
  submit: 'Verify the address',
  signInFirst: 'Sign in to ask for a new link.',
  again: (email: string) => `We can send a new link to ${email}.`,
  isVerified: (email: string) => `${email} is verified.`,
  resend: 'Send a new link',
  notices: {
    'email-verified': 'Your email address is verified.',
    'verify-link-used': 'This link was used before. Its address is verified.',
    'verification-sent': 'An email with a new link is on its way.',
  },
}

const es: typeof en = {
  title: (email) => `Verifique ${email}`,
  intro: 'Confirme que recibió el mensaje.',
  submit: 'Verificar el correo',
  signInFirst: 'Inicie sesión para pedir un enlace nuevo.',
  again: (email) => `Podemos enviar un enlace nuevo a ${email}.`,
  isVerified: (email) => `${email} está verificado.`,
  resend: 'Enviar un enlace nuevo',
  notices: {
    'email-verified': 'Su correo electrónico está verificado.',
    'verify-link-used': 'Este enlace ya se había usado. Su correo está verificado.',
    'verification-sent': 'Un mensaje con un enlace nuevo está en camino.',
  },
}

export const verifyEmail = { en, es }
