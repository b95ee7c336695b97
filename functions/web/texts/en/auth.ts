export const signIn = {
  title: 'Sign in',
  email: 'Email address',
  password: 'Password',
  submit: 'Sign in',
  forgot: 'I forgot my password',
  refused: 'The email address or the password is not right.',
}

export const forgotPassword = {
  title: 'Forgot your password?',
  intro: 'Enter your email address. If it has an account, we send a link to set a new password.',
  email: 'Email address',
  submit: 'Send the link',
  back: 'Back to sign in',
}

export const link = { invalid: 'This link is invalid or has expired' }

export const resetPassword = {
  title: 'Set a new password',
  password: 'New password',
  hint: (count: number) => `At least ${count} characters. Several words are easy to remember.`,
  submit: 'Set the password',
  again: 'Ask for a new link',
}

export const verifyEmail = {
  title: 'Verify your email address',
  intro: 'Confirm that the mail reached you.',
  submit: 'Verify the address',
  signInFirst: 'Sign in to ask for a new link.',
  again: (email: string) => `We can send a new link to ${email}.`,
  resend: 'Send a new link',
}

export const invitation = {
  title: (shop: string) => `Join ${shop}`,
  shop: 'Shop',
  role: 'Your role',
  inviter: 'Invited by',
  email: 'Your email address',
  existing: 'You have an account already. You can join with it.',
  newcomer: 'Set your name and a password to create your account.',
  name: 'Your name',
  password: 'Password',
  join: 'Join the shop',
  create: 'Create the account and join',
  again: 'Ask the person who invited you for a new invitation.',
}
