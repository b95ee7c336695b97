export const signIn = {
  title: 'Sign in',
  email: 'Email address',
  password: 'Password',
  submit: 'Sign in',
  forgot: 'I forgot my password',
  refused: 'The email address or the password is not right.',
}
